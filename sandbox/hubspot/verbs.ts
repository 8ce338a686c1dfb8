import type { SandboxKit } from '../kit/kit.ts';
import type { RunningServer } from '../kit/listen.ts';
import { authorizeInBrowser, type PersonsAnswer } from '../kit/oauth/browser.ts';
import { type CommonVerbs, commonVerbs } from '../kit/verbs.ts';
import { type ByHand, byHand } from './by-hand.ts';
import { HubSpotCounts } from './counts.ts';
import type { Limits } from './limits.ts';
import { ADMINISTRATOR, AUTHORIZE_PATH, type HubSpotOAuth } from './oauth.ts';
import { type ObjectTypeName, objectType } from './object-types.ts';
import type { Application, FixedOption, HubSpotSandboxOptions, Settings } from './options.ts';
import { PLAIN_SCOPES } from './scopes.ts';
import type { World } from './world.ts';

/** Scopes and app of a test token; defaults: all scopes except sensitive data, and the first app. */
export interface TokenWish {
  scopes?: string[];
  clientId?: string;
}

/** A running sandbox: URLs, counters, and the manual actions of a test. */
export interface HubSpotSandbox extends CommonVerbs<Omit<HubSpotSandboxOptions, FixedOption>>, ByHand {
  /** Base URL of the API; stands for `https://api.hubapi.com`. */
  apiUrl: string;
  /** Stands for `https://app.hubspot.com/oauth/authorize`. */
  authorizeUrl: string;
  /** The current token endpoint; the old one is `/oauth/v1/token`. */
  tokenUrl: string;
  portalId: number;
  /** The first app. */
  application: Application;
  counts: HubSpotCounts;

  authorizeInBrowser(authorizationUrl: string, answer: PersonsAnswer): Promise<string>;
  /** Issues an OAuth access token without a sign-in. */
  issueAccessToken(wish?: TokenWish): string;
  /** Issues a token of a private app, which never expires. */
  issuePrivateToken(scopes?: string[]): string;
  /** Expires all OAuth access tokens; refresh tokens remain valid. */
  expireAccessTokens(): void;
  /** Uninstalls an app, as an administrator does: all tokens of the app become invalid. */
  uninstall(clientId?: string): void;
  /** Deletes a private app or reduces its scopes, as an administrator does. */
  revokePrivateToken(token: string): void;
  reduceScopes(privateToken: string, scopes: string[]): void;

  /** Answers 423 to upserts of one object type for `lengthMs`. */
  lock(object: ObjectTypeName, lengthMs: number): void;
  /** Answers 477 with Retry-After to every call for `lengthMs`. */
  migrate(lengthMs: number): void;
}

/** Parts on which the verbs act. */
export interface SandboxParts {
  server: RunningServer;
  kit: SandboxKit;
  world: World;
  settings: Settings;
  oauth: HubSpotOAuth;
  limits: Limits;
}

/** Returns the object that a test uses. */
export function toVerbs(parts: SandboxParts): HubSpotSandbox {
  const { server, kit, world, settings, limits } = parts;
  return {
    ...commonVerbs(server, kit, settings),
    apiUrl: server.url,
    authorizeUrl: `${server.url}${AUTHORIZE_PATH}`,
    tokenUrl: `${server.url}/oauth/2026-09/token`,
    portalId: settings.portalId,
    application: settings.applications[0]!,
    counts: new HubSpotCounts(kit.counts),
    ...byHand(world),
    ...loginVerbs(parts),
    lock: (object, lengthMs) => limits.lock(objectType(object), lengthMs),
    migrate: (lengthMs) => limits.migrate(lengthMs),
  };
}

function loginVerbs({ settings, oauth }: SandboxParts) {
  const first = settings.applications[0]!;
  return {
    authorizeInBrowser,
    issueAccessToken: ({ scopes = [...PLAIN_SCOPES], clientId = first.clientId }: TokenWish = {}): string => {
      const grant = { client: { clientId }, account: ADMINISTRATOR, scopes, isLasting: false };
      return oauth.tokens.issueAccess(grant).token;
    },
    issuePrivateToken: (scopes: string[] = [...PLAIN_SCOPES]): string => oauth.privateApps.issue(scopes),
    expireAccessTokens: (): void => oauth.tokens.expireAccess(),
    uninstall: (clientId = first.clientId): void =>
      oauth.tokens.endGrants(({ client }) => client.clientId === clientId),
    revokePrivateToken: (token: string): void => oauth.privateApps.revoke(token),
    reduceScopes: (token: string, scopes: string[]): void => oauth.privateApps.reduceScopes(token, scopes),
  };
}
