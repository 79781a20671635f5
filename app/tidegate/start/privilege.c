/* SPDX-License-Identifier: BSD-3-Clause */
#include "start/privilege.h"

#include <cap-ng.h>
#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker.h"

int tg_privilege_drop(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	capng_clear(CAPNG_SELECT_BOTH);
	return capng_apply(CAPNG_SELECT_CAPS) == 0 ? 0 : -EPERM;
}

int tg_privilege_keep_net_admin(void)
{
	bool has;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	has = capng_get_caps_process() == 0 &&
	      capng_have_capability(CAPNG_PERMITTED, CAP_NET_ADMIN) == 1;
	capng_clear(CAPNG_SELECT_BOTH);
	if (has && capng_update(CAPNG_ADD, CAPNG_EFFECTIVE | CAPNG_PERMITTED, CAP_NET_ADMIN) != 0)
		return -EPERM;
	return capng_apply(CAPNG_SELECT_CAPS) == 0 ? 0 : -EPERM;
}

int tg_privilege_drop_and_run(void *worker)
{
	if (tg_privilege_drop() != 0) {
		/* nobody may poll its queues with rights it should not have, nor leave them unpolled */
		static const char why[] =
			"tidegate: a worker cannot drop its capabilities: stops\n";

		(void)!write(STDERR_FILENO, why, sizeof(why) - 1);
		kill(getpid(), SIGTERM);
		return -EPERM;
	}
	return tg_worker_main(worker);
}
