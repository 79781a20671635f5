/* SPDX-License-Identifier: BSD-3-Clause */
#include "privilege.h"

#include <cap-ng.h>
#include <errno.h>
#include <sys/prctl.h>

#include "worker.h"

int tg_privilege_drop(void)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
		return -errno;
	capng_clear(CAPNG_SELECT_BOTH);
	return capng_apply(CAPNG_SELECT_CAPS) == 0 ? 0 : -EPERM;
}

int tg_privilege_drop_and_run(void *worker)
{
	int r = tg_privilege_drop();

	return r != 0 ? r : tg_worker_main(worker);
}
