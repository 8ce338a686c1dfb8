import type { FastifyRequest } from 'fastify';
import type { Logger } from '../../core/log/logger.ts';
import { ACCESS_LEVELS, type AccessLevel, type AccessRights } from '../../core/model/acts.ts';
import type { AllBackups } from '../../features/backup/backups.ts';
import type { ConfigurationServices } from '../../features/managed-tenants/managed-tenants.ts';
import type { AccessServices } from '../control/access.ts';
import type { Installation } from '../control/installation.ts';
import type { LoginServices } from '../control/logins.ts';
import type { Acting } from '../control/recording.ts';
import type { Statuses } from '../control/statuses.ts';
import type { Services } from '../operations/operation.ts';

export const SIGN_OUT_PATH = '/sign-out';
/** Own sessions of the visitor. */
export const SESSIONS_PATH = '/sessions';

/** An administrator on the pages or the API. */
export interface Visitor extends AccessRights {
  /** Permanent identity: `account:<issuer>#<subject>`, `token:<name>`, or `owner` for the holder of the passphrase. */
  id: string;
  /** Displayed name: an e-mail address, or the name of a token. */
  name: string;
  /** When the user of a session last authenticated; 0 if unknown, absent for a token. */
  signedInAt?: number;
  /** CSRF proof in every form and every call that changes data. */
  csrf: string;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Null on public routes. */
    visitor: Visitor | null;
    /** Returns the current visitor during a long answer; null after access ended. */
    stillVisitor(): Promise<Visitor | null>;
  }
  interface FastifyContextConfig {
    /** Minimum level of a route. A `tenant` parameter must also be visible to the visitor. Absent: public. */
    level?: AccessLevel;
    /** A long-lived stream that clients reopen; counted separately from short requests. */
    isStream?: boolean;
  }
}

/** Returns the visitor on a route with a level. */
export function visitorOf({ visitor }: FastifyRequest): Visitor {
  if (visitor === null) throw new Error('a route without a level has no visitor');
  return visitor;
}

/** Decides whether the visitor's level includes `least`. */
export function mayDo({ level }: Visitor, least: AccessLevel): boolean {
  return ACCESS_LEVELS.indexOf(level) >= ACCESS_LEVELS.indexOf(least);
}

/** Dependencies of pages and API from `main.ts`. Both call the verbs of `operator/control/`, like commands. */
export interface OperatorServices {
  installation: Installation;
  /** States of clinics, shared with metrics and probes. */
  statuses: Statuses;
  /** Read at each call, because settings can change after the start. */
  loginServices(): LoginServices;
  access: AccessServices;
  backups: AllBackups;
  /** Null in tests whose configuration has no files. */
  configurations: ConfigurationServices | null;
  /** Returns the actor for verbs that change data (`operator/control/acts.ts`). @param why the visitor's reason; null for none */
  acting(visitor: Visitor, why: string | null): Acting;
  log: Logger;
}

/** Returns the tenant configurations. @throws TypeError in tests whose configuration has no files */
function configurationsOf({ configurations }: OperatorServices): ConfigurationServices {
  if (configurations === null) throw new TypeError('the configuration of this process came from no files');
  return configurations;
}

/** Returns the services for operations from the API or a page. */
export function servicesOf(services: OperatorServices): Services {
  const notServed = () => Promise.reject(new TypeError('the port for operators offers no operation that needs this'));
  return {
    installation: services.installation,
    statuses: services.statuses,
    logins: async () => services.loginServices(),
    backups: async () => services.backups,
    configurations: async () => configurationsOf(services),
    access: async () => services.access,
    ...{ clinic: notServed, state: notServed },
    publicUrl: null,
  };
}
