import { principalOf } from '../control/sign-in.ts';
import type { Statuses } from '../control/statuses.ts';
import type { OperatorServices } from '../http-server/operators.ts';
import { openBackups } from './backup.ts';
import type { Composition } from './compose.ts';
import { createLoginServices } from './login-desk.ts';

/** What pages and API work on. */
export function openOperatorServices(
  composition: Composition,
  statuses: Statuses,
  configurations: OperatorServices['configurations'],
): OperatorServices {
  const { installation, acts, log } = composition;
  return {
    installation,
    statuses,
    loginDesk: () => createLoginServices(composition),
    backups: openBackups(composition, configurations),
    configurations,
    acting: (visitor, why) => ({ who: principalOf(visitor), why, desk: acts }),
    log,
  };
}
