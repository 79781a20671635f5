/* SPDX-License-Identifier: BSD-3-Clause */
#include "tg_burst.h"

static const char *const names[] = {
#define TG_REASON_NAME(id, name, text) name,
	TG_DROP_REASONS(TG_REASON_NAME)
#undef TG_REASON_NAME
};

static const char *const texts[] = {
#define TG_REASON_TEXT(id, name, text) text,
	TG_DROP_REASONS(TG_REASON_TEXT)
#undef TG_REASON_TEXT
};

const char *tg_reason_name(enum tg_reason why)
{
	return (unsigned int)why < TG_DROP_REASON_COUNT ? names[why] : "?";
}

const char *tg_reason_text(enum tg_reason why)
{
	return (unsigned int)why < TG_DROP_REASON_COUNT ? texts[why] : "?";
}
