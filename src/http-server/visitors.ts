import type { FastifyRequest } from 'fastify';
import { ACCESS_LEVELS, type AccessLevel, type AccessRights } from '../model/acts.ts';

export { maySee } from '../model/acts.ts';
export type { AccessLevel };

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
