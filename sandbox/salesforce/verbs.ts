import { type CertificateWithKey, createCertificate } from '../kit/certificate.ts';
import type { SandboxKit } from '../kit/kit.ts';
import type { RunningServer } from '../kit/listen.ts';
import { authorizeInBrowser, type PersonsAnswer } from '../kit/oauth/browser.ts';
import { type CommonVerbs, commonVerbs } from '../kit/verbs.ts';
import { type ByHand, byHand } from './by-hand.ts';
import { SalesforceCounts } from './counts.ts';
import type { FieldAccess } from './fields.ts';
import type { Instance, OldInstance } from './instance.ts';
import { grantOf, PATHS, type SalesforceOAuth } from './oauth.ts';
import type { Application, FixedOption, SalesforceSandboxOptions } from './options.ts';
import type { QueryRoutes } from './query-routes.ts';
import type { DuplicateRule, ValidationRule } from './rules.ts';
import type { Usage } from './usage.ts';
import type { World } from './world.ts';

/** A running sandbox: URLs, counters, and the manual actions of a test. */
export interface SalesforceSandbox extends CommonVerbs<Omit<SalesforceSandboxOptions, FixedOption>>, ByHand {
  /** Stands for `https://login.salesforce.com`. Until the org moves, the URL also stands for the org's instance. */
  loginUrl: string;
  authorizeUrl: string;
  tokenUrl: string;
  revokeUrl: string;
  /** The newest version as in paths, e.g. `v68.0`. */
  apiVersion: string;
  /** The first application. */
  application: Application;
  counts: SalesforceCounts;

  authorizeInBrowser(authorizationUrl: string, answer: PersonsAnswer): Promise<string>;
  /** Issues an access token without a sign-in; default: user `integration@clinic.example` and scope `api`. */
  issueAccessToken(username?: string, scopes?: string[]): string;
  /** Returns the number of the user's grants with a refresh token. */
  liveGrants(username: string): number;
  /** Revokes all grants and sessions of a user, as an administrator does. */
  revokeUser(username: string): void;
  /** Refuses a user's sign-ins and refreshes, e.g. `inactive user`, `ip restricted`; undefined permits both again. */
  refuseUser(username: string, description: string | undefined): void;
  /** Ends all sessions; refresh tokens remain valid. */
  endSessions(): void;
  createCertificate(): CertificateWithKey;

  /** Sets field-level security of the integration's user. Throws if the object or the field is unknown. */
  setFieldAccess(object: string, field: string, access: FieldAccess): void;
  addValidationRule(rule: ValidationRule): void;
  addDuplicateRule(rule: DuplicateRule): void;
  clearRules(): void;
  /** Retires all versions below `version`. */
  retireVersionsBelow(version: number): void;
  /** Moves the org to a new URL, ends all sessions, and returns the URL. The OAuth server keeps its URLs. */
  moveInstance(old?: OldInstance): Promise<string>;
  /** Adds API calls of other integrations of the org. */
  spendApiCalls(calls: number): void;
  /** Returns the number of API calls of the last 24 hours, as in the limit header. */
  usedApiCalls(): number;
  /** Invalidates the further pages of open queries. */
  expireQueries(): void;
}

/** Parts used by the verbs. */
export interface SandboxParts {
  server: RunningServer;
  kit: SandboxKit;
  world: World;
  oauth: SalesforceOAuth;
  usage: Usage;
  queries: QueryRoutes;
  instance: Instance;
}

const DEFAULT_USER = 'integration@clinic.example';

/** Returns the object that a test uses. */
export function toVerbs(parts: SandboxParts): SalesforceSandbox {
  const { server, kit, world, instance } = parts;
  const { settings } = world;
  return {
    ...commonVerbs(server, kit, settings),
    close: async () => {
      await Promise.all([server.close(), instance.close()]);
    },
    loginUrl: server.url,
    authorizeUrl: `${server.url}${PATHS.authorize}`,
    tokenUrl: `${server.url}${PATHS.token}`,
    revokeUrl: `${server.url}${PATHS.revoke}`,
    apiVersion: `v${settings.newestVersion}.0`,
    application: settings.applications[0]!,
    counts: new SalesforceCounts(kit.counts),
    ...byHand(world),
    ...loginVerbs(parts),
    ...orgVerbs(parts),
  };
}

function loginVerbs({ world, oauth }: SandboxParts) {
  return {
    authorizeInBrowser,
    issueAccessToken: (username = DEFAULT_USER, scopes = ['api']): string => {
      world.user(username);
      return oauth.tokens.issueAccess(grantOf(username, world.settings.applications[0]!, scopes)).token;
    },
    liveGrants: (username: string): number => oauth.tokens.countRefresh(({ account }) => account === username),
    revokeUser: (username: string): void => oauth.tokens.endGrants(({ account }) => account === username),
    refuseUser: (username: string, description: string | undefined): void => oauth.refuse(username, description),
    endSessions: (): void => oauth.tokens.expireAccess(),
    createCertificate: (): CertificateWithKey => createCertificate(),
  };
}

function orgVerbs({ world, oauth, usage, queries, instance }: SandboxParts) {
  return {
    setFieldAccess: (object: string, field: string, access: FieldAccess): void =>
      world.schema.setAccess(object, field, access),
    addValidationRule: (rule: ValidationRule): void => {
      world.rules.validation.push(rule);
    },
    addDuplicateRule: (rule: DuplicateRule): void => {
      world.rules.duplicates.push(rule);
    },
    clearRules: (): void => {
      world.rules.validation = [];
      world.rules.duplicates = [];
    },
    retireVersionsBelow: (version: number): void => {
      world.settings.oldestVersion = version;
    },
    moveInstance: async (old: OldInstance = 'unauthorized'): Promise<string> => {
      const url = await instance.move(old);
      oauth.tokens.expireAccess();
      return url;
    },
    spendApiCalls: (calls: number): void => usage.spend(calls),
    usedApiCalls: (): number => usage.used(),
    expireQueries: (): void => queries.expire(),
  };
}
