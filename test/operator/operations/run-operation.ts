import { openStatuses } from '../../../src/operator/control/statuses.ts';
import type { OperationContext, Services } from '../../../src/operator/operations/operation.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { openActing } from '../control/acting.ts';

/** Context of an operation. A test gives only the parts that the operation uses; the use of any other part fails. */
export type ContextChoice = Partial<Omit<OperationContext, 'services'>> &
  Partial<Omit<Services, 'installation'>> &
  Pick<Services, 'installation'>;

/** What an operation is run with, as an owner of all tenants. */
export function contextWith(choice: ContextChoice): OperationContext {
  const unused = () => Promise.reject(new Error('this test gives none'));
  const { acting = openActing(), rights = { level: 'owner', tenants: null }, progress, signals, ...services } = choice;
  return {
    services: {
      statuses: openStatuses(),
      ...{ logins: unused, backups: unused, configurations: unused, access: unused, clinic: unused, state: unused },
      publicUrl: null,
      ...services,
    },
    ...{ acting, rights },
    progress: progress ?? (() => {}),
    signals: signals ?? { stop: NEVER, abort: NEVER },
  };
}
