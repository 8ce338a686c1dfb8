import { type CertificateWithKey, createCertificate } from '../kit/certificate.ts';
import type { SandboxKit } from '../kit/kit.ts';
import type { RunningServer } from '../kit/listen.ts';
import { approveDevice, authorizeInBrowser, type PersonsAnswer } from '../kit/oauth/browser.ts';
import { type CommonVerbs, commonVerbs } from '../kit/verbs.ts';
import { type ByHand, byHand } from './by-hand.ts';
import { GraphCounts } from './counts.ts';
import { appOnlyGrant, type GraphOAuth } from './oauth.ts';
import { DEVICE_PAGE_PATH } from './oauth-routes.ts';
import type { Application, FixedOption, GraphSandboxOptions, Settings } from './options.ts';
import type { LifecycleEvent, Subscription, Subscriptions } from './subscriptions.ts';
import type { World } from './world.ts';

/** Whose token, for which permissions, by which application; the defaults are the first application and write access. */
export interface TokenWish {
  scopes?: string[];
  clientId?: string;
}

/** A running sandbox: its URLs, its counts, and the manual actions of tests. Unknown mailboxes and events throw. */
export interface GraphSandbox extends CommonVerbs<Omit<GraphSandboxOptions, FixedOption>>, ByHand {
  /** Root url of the API, to stand for `https://graph.microsoft.com`; the version comes after it. */
  graphUrl: string;
  /** `POST` batches here. */
  batchUrl: string;
  tenantId: string;
  /** Issuer for OpenID discovery; stands for `https://login.microsoftonline.com/{tenant}/v2.0`. */
  issuer: string;
  tokenUrl: string;
  /** The first application. */
  application: Application;
  counts: GraphCounts;

  authorizeInBrowser(authorizationUrl: string, answer: PersonsAnswer): Promise<string>;
  /** Types a device's code and answers it. Throws Error when the code is unknown or over. */
  approveDevice(userCode: string, answer: PersonsAnswer): Promise<void>;
  /** Issues a user's access token without a sign-in. The default scope is `Calendars.ReadWrite`. */
  issueAccessToken(account: string, wish?: TokenWish): string;
  /** An app-only access token, with the application's roles. */
  issueAppToken(clientId?: string): string;
  /** Ends an account's refresh tokens. */
  revokeConsent(account: string): void;
  /** Refuses an account's refreshes until it logs in: invalid_grant with suberror basic_action. */
  requireInteraction(account: string): void;
  expireAccessTokens(): void;
  /** Challenges all tokens of an account, or of an application by its client id; `needsPerson` refuses refreshes too. */
  challengeClaims(who: string, needsPerson?: boolean): void;
  createCertificate(): CertificateWithKey;
  /** Registers a certificate with an application; default: the first. */
  registerCertificate(certificate: string, clientId?: string): void;

  /** Live subscriptions. */
  subscriptions(): Subscription[];
  sendLifecycleEvent(subscriptionId: string, event: LifecycleEvent): void;
  /** Resolves when no notification is on its way any more. */
  notificationsSettled(): Promise<void>;
}

/** What the verbs work on. */
export interface SandboxParts {
  server: RunningServer;
  kit: SandboxKit;
  world: World;
  settings: Settings;
  oauth: GraphOAuth;
  subscriptions: Subscriptions;
}

/** The object that a test holds. */
export function toVerbs(parts: SandboxParts): GraphSandbox {
  const { server, kit, world, settings, subscriptions } = parts;
  const tenant = `${server.url}/${settings.tenantId}`;
  return {
    ...commonVerbs(server, kit, settings),
    graphUrl: server.url,
    batchUrl: `${server.url}/v1.0/$batch`,
    tenantId: settings.tenantId,
    issuer: `${tenant}/v2.0`,
    tokenUrl: `${tenant}/oauth2/v2.0/token`,
    application: settings.applications[0]!,
    counts: new GraphCounts(world),
    ...byHand(world),
    ...loginVerbs(parts),
    subscriptions: () => subscriptions.list(),
    sendLifecycleEvent: (id, event) => subscriptions.sendLifecycleEvent(id, event),
    notificationsSettled: () => subscriptions.settled(),
  };
}

function loginVerbs({ server, world, settings, oauth }: SandboxParts) {
  function applicationOf(clientId: string | undefined): Application {
    const [first] = settings.applications;
    const found = clientId === undefined ? first : settings.applications.find((each) => each.clientId === clientId);
    if (!found) {
      throw new Error(`The sandbox has no application ${clientId}`);
    }
    return found;
  }
  return {
    authorizeInBrowser,
    approveDevice: (userCode: string, answer: PersonsAnswer) =>
      approveDevice(`${server.url}${DEVICE_PAGE_PATH}`, userCode, answer),
    issueAccessToken: (account: string, { scopes, clientId }: TokenWish = {}): string => {
      const client = applicationOf(clientId);
      const { mail } = world.mailbox(account);
      const grant = { account: mail, client, scopes: scopes ?? ['Calendars.ReadWrite'], isLasting: false };
      return oauth.tokens.issueAccess(grant).token;
    },
    issueAppToken: (clientId?: string): string => oauth.tokens.issueAccess(appOnlyGrant(applicationOf(clientId))).token,
    // Access tokens live on until they expire.
    revokeConsent: (account: string): void => oauth.tokens.endGrants((grant) => grant.account === account, 'refresh'),
    requireInteraction: (account: string): void => oauth.challenges.requireInteraction(account),
    expireAccessTokens: (): void => oauth.tokens.expireAccess(),
    challengeClaims: (who: string, needsPerson = false): void => oauth.challenges.challenge(who, needsPerson),
    createCertificate: (): CertificateWithKey => createCertificate(),
    registerCertificate: (certificate: string, clientId?: string): void => {
      applicationOf(clientId).certificates.push(certificate);
    },
  };
}
