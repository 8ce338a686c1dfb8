import type { FingerprintMemory, TargetIdentity } from '../engine/identity.ts';
import type { EngineTarget } from '../engine/ports.ts';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { OpenCrm } from './cycle-input.ts';
import { refusedThere } from './refusals.ts';

/** Connections of an application with many accounts, or with limits per target: a rate limit does not affect the other targets. */
const OF_MANY_ACCOUNTS: ReadonlySet<string> = new Set(['google-service-account', 'microsoft-app']);

/** How the engine treats a target, by its kind. */
export type TargetTraits = Pick<
  EngineTarget,
  | 'sharesLimits'
  | 'dependsOn'
  | 'takesOver'
  | 'plansParts'
  | 'findsContainer'
  | 'invalidate'
  | 'refusedIn'
  | 'containerMissing'
>;

/** What a target is made of. */
interface TargetParts {
  configuration: Pick<TargetConfiguration, 'crm'>;
  /** Null for a calendar. */
  crm: Pick<OpenCrm, 'refusals'> | null;
  identity: TargetIdentity;
  fingerprints: FingerprintMemory;
  /** Kind of the connection, as in the tenant file. */
  connectionKind: string;
}

/** Returns how the engine treats a target: a calendar, or the contacts, activities or deals of a CRM. */
export function traitsOf({ configuration, crm, identity, fingerprints, connectionKind }: TargetParts): TargetTraits {
  return {
    sharesLimits: !OF_MANY_ACCOUNTS.has(connectionKind),
    // Activities and deals belong to contacts.
    dependsOn: configuration.crm?.contacts ?? null,
    // Users add notes to events, and a near event must not wait for a whole reading.
    ...{ takesOver: crm === null, plansParts: crm === null },
    // A CRM's connector may create its own properties.
    findsContainer: crm === null,
    invalidate: () => fingerprints.invalidate(),
    refusedIn: (objects, written, before) =>
      refusedThere(objects, crm?.refusals ?? [], { ...written, identity }, before),
    containerMissing: () =>
      new MirrorError(message('calendar-not-found'), {
        actor: 'settings',
        code: 'calendar-not-found',
        retry: 'never',
        remedy: message('calendar-not-found.remedy'),
      }),
  };
}
