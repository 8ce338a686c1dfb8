import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import type { Acting } from '../control/recording.ts';
import type { Statuses } from '../control/statuses.ts';
import type { AllBackups } from '../features/backup/backups.ts';
import type { ConfigurationServices } from '../features/managed-tenants/managed-tenants.ts';
import type { Logger } from '../log/logger.ts';
import type { Services } from '../operations/operation.ts';
import type { Visitor } from './visitors.ts';

/** What pages and API work on; `main.ts` gives it. They call the verbs of `control/` with it, as commands do. */
export interface OperatorServices {
  installation: Installation;
  /** Where clinics stand, shared with metrics and probes. */
  statuses: Statuses;
  /** As of now: settings may have changed since the start. */
  loginDesk(): LoginServices;
  backups: AllBackups;
  /** Null in a process whose configuration came from no files: a test's. */
  configurations: ConfigurationServices | null;
  /** For every verb that changes something (`control/acts.ts`). @param why the visitor's reason; null for none */
  acting(visitor: Visitor, why: string | null): Acting;
  log: Logger;
}

/** What tenants are configured with. @throws TypeError in a test whose configuration came from no files */
function configurationsOf({ configurations }: OperatorServices): ConfigurationServices {
  if (configurations === null) throw new TypeError('the configuration of this process came from no files');
  return configurations;
}

/** What operations work on when the API or a page runs them. */
export function servicesOf(services: OperatorServices): Services {
  const notServed = () => Promise.reject(new TypeError('the port for operators offers no operation that needs this'));
  return {
    installation: services.installation,
    statuses: services.statuses,
    logins: async () => services.loginDesk(),
    backups: async () => services.backups,
    configurations: async () => configurationsOf(services),
    ...{ access: notServed, clinic: notServed, state: notServed },
    publicUrl: null,
  };
}
