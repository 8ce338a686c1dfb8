import { principalOf } from '../control/sign-in.ts';
import type { Statuses } from '../control/statuses.ts';
import type { OperatorDesk } from '../http-server/operator-desk.ts';
import { openBackups } from './backup.ts';
import type { Composition } from './compose.ts';
import { loginDesk } from './login-desk.ts';

/** What pages and API work on. */
export function openOperatorDesk(
  composition: Composition,
  statuses: Statuses,
  configurations: OperatorDesk['configurations'],
): OperatorDesk {
  const { installation, acts, log } = composition;
  return {
    installation,
    statuses,
    loginDesk: () => loginDesk(composition),
    backups: openBackups(composition, configurations),
    configurations,
    acting: (visitor, why) => ({ who: principalOf(visitor), why, desk: acts }),
    log,
  };
}
