/* SPDX-License-Identifier: BSD-3-Clause */
#include <string.h>

#include "tg_health.h"

static bool digit(uint8_t c)
{
	return c >= '0' && c <= '9';
}

/* RFC 9112 section 4: HTTP/1.x, a space, three digits, and whatever follows a space. */
enum tg_health_reason tg_http_judge(const uint8_t *data, uint16_t len)
{
	static const char begins[] = "HTTP/1.";
	const uint8_t *status = data + 9;

	if (len < 12 || memcmp(data, begins, sizeof(begins) - 1) != 0 || !digit(data[7]) ||
	    data[8] != ' ' || !digit(status[0]) || !digit(status[1]) || !digit(status[2]) ||
	    (len > 12 && status[3] != ' ' && status[3] != '\r'))
		return TG_HEALTH_NOT_HTTP;
	return status[0] == '2' || status[0] == '3' ? TG_HEALTH_NONE : TG_HEALTH_STATUS;
}
