import type { FastifyRequest } from 'fastify';
import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import type { Acting } from '../control/recording.ts';
import type { Statuses } from '../control/statuses.ts';
import type { AllBackups } from '../features/backup/backups.ts';
import type { ConfigurationServices } from '../features/managed-tenants/managed-tenants.ts';
import type { Logger } from '../log/logger.ts';
import { ACCESS_LEVELS, type AccessLevel, type AccessRights } from '../model/acts.ts';
import type { Services } from '../operations/operation.ts';

/** Where a session ends. */
export const SIGN_OUT_PATH = '/sign-out';

/** An administrator who looks at pages or calls the API. */
export interface Visitor extends AccessRights {
  /** What tells two of them apart for good: `account:<issuer>#<subject>`; `token:<name>`, and `owner` for who has the passphrase. */
  id: string;
  /** As people call them: an e-mail address, or the name of a token. */
  name: string;
  /** Shown by every form and every call that changes something, so that no other site's page can make one. */
  csrf: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on routes that ask for nobody. */
    visitor: Visitor | null;
    /** Who it is as of now, for an answer that goes on for long; null when they are let in no more. */
    stillVisitor(): Promise<Visitor | null>;
  }
  interface FastifyContextConfig {
    /** The least level that a route takes. A parameter `tenant` of its address must be one of the visitor's too. Absent: anybody. */
    level?: AccessLevel;
    /** It goes on for long, and is opened again when it ends: counted apart from what is answered at once. */
    isStream?: boolean;
  }
}

/** Who looks, on a route that has a level. */
export function visitorOf({ visitor }: FastifyRequest): Visitor {
  if (visitor === null) throw new Error('a route without a level has no visitor');
  return visitor;
}

/** Whether they may do what takes this level. */
export function mayDo({ level }: Visitor, least: AccessLevel): boolean {
  return ACCESS_LEVELS.indexOf(level) >= ACCESS_LEVELS.indexOf(least);
}

/** What pages and API work on; `main.ts` gives it. They call the verbs of `control/` with it, as commands do. */
export interface OperatorServices {
  installation: Installation;
  /** Where clinics stand, shared with metrics and probes. */
  statuses: Statuses;
  /** As of now: settings may have changed since the start. */
  loginServices(): LoginServices;
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
    logins: async () => services.loginServices(),
    backups: async () => services.backups,
    configurations: async () => configurationsOf(services),
    ...{ access: notServed, clinic: notServed, state: notServed },
    publicUrl: null,
  };
}
