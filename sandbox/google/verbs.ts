import type { SandboxKit } from '../kit/kit.ts';
import type { RunningServer } from '../kit/listen.ts';
import { authorizeInBrowser, type PersonsAnswer } from '../kit/oauth/browser.ts';
import { type CommonVerbs, commonVerbs } from '../kit/verbs.ts';

import type { Channel, Channels } from './channels.ts';
import { GoogleCounts } from './counts.ts';
import { type EventResource, toResource } from './event-resource.ts';
import type { StoredEvent } from './event-store.ts';
import { addEvent, cancelEvent, editEvent } from './event-writes.ts';
import { type GoogleOAuth, tokenUrl } from './oauth.ts';
import type { GoogleSandboxOptions, OAuthClient, Settings } from './options.ts';
import { longForm } from './scopes.ts';
import type { Delegation, ServiceAccountKeyFile, ServiceAccounts } from './service-accounts.ts';
import type { Calendar, Role, World } from './world.ts';

/** A running sandbox: its URLs, its request counts, and the manual actions of tests. Unknown calendars and events throw. */
export interface GoogleSandbox extends CommonVerbs<Omit<GoogleSandboxOptions, 'port' | 'seed' | 'clients'>> {
  /** Root url for the googleapis client's `rootUrl` option. */
  calendarApiUrl: string;
  batchUrl: string;
  /** Issuer for OpenID discovery and base of the OAuth endpoints. */
  issuer: string;
  tokenUrl: string;
  /** The first OAuth client. */
  client: OAuthClient;
  counts: GoogleCounts;

  /** Makes an account with its primary calendar. */
  addAccount(email: string): void;
  authorizeInBrowser(authorizationUrl: string, answer: PersonsAnswer): Promise<string>;
  /**
   * Issues an access token without a sign-in. Scopes are in short or long form, by default `calendar`. `asService`: the account is a
   * service account. A client that is not configured is treated as a separate project with separate quotas.
   */
  issueAccessToken(account: string, given?: TokenWish): string;
  /** Ends an account's consent to every client, as on its security page. */
  revokeConsent(account: string): void;
  expireAccessTokens(): void;
  createServiceAccount(email: string, delegation?: Delegation): ServiceAccountKeyFile;
  delegate(serviceAccount: string, delegation: Delegation | undefined): void;

  /** Returns the new calendar's id. */
  createCalendar(account: string, summary: string, timeZone?: string): string;
  deleteCalendar(calendarId: string): void;
  setRole(calendarId: string, account: string, role: Role): void;
  events(calendarId: string, options?: { includeDeleted?: boolean }): EventResource[];
  event(calendarId: string, eventId: string): EventResource | undefined;
  addByHand(calendarId: string, fields: object): EventResource;
  /** Merges changes into an event, as a patch by its owner would. */
  editByHand(calendarId: string, eventId: string, changes: object): EventResource;
  deleteByHand(calendarId: string, eventId: string): void;
  /** Takes an event out of reach: nothing can be read of it, and its id stays taken (github.com/taers232c/GAMADV-X/issues/82). */
  purge(calendarId: string, eventId: string): void;
  expireSyncTokens(): void;
  /** Live watches. */
  channels(): Channel[];
  /** Resolves when no push notification is on its way. */
  notificationsSettled(): Promise<void>;
}

interface TokenWish {
  scopes?: string[];
  clientId?: string;
  asService?: boolean;
}

/** What the verbs work on. */
export interface SandboxParts {
  server: RunningServer;
  kit: SandboxKit;
  world: World;
  settings: Settings;
  oauth: GoogleOAuth;
  channels: Channels;
  serviceAccounts: ServiceAccounts;
}

/** The object that a test holds. */
export function toVerbs(parts: SandboxParts): GoogleSandbox {
  const { server, kit, settings, channels } = parts;
  return {
    ...commonVerbs(server, kit, settings),
    calendarApiUrl: server.url,
    batchUrl: `${server.url}/batch/calendar/v3`,
    issuer: server.url,
    tokenUrl: tokenUrl({ issuer: server.url }),
    client: settings.clients[0]!,
    counts: new GoogleCounts(kit.counts),
    ...accountVerbs(parts),
    ...calendarVerbs(parts),
    channels: () => channels.list(),
    notificationsSettled: () => channels.settled(),
  };
}

function accountVerbs({ server, world, settings, oauth, serviceAccounts }: SandboxParts) {
  return {
    addAccount: (email: string): void => {
      world.account(email);
    },
    authorizeInBrowser,
    issueAccessToken: (account: string, given: TokenWish = {}): string => {
      world.account(account);
      const { clientId = settings.clients[0]!.clientId } = given;
      const configured = settings.clients.find((client) => client.clientId === clientId);
      const client = { clientId, project: configured?.project ?? clientId };
      const scopes = (given.scopes ?? ['calendar']).map(longForm);
      const service = given.asService === true ? { serviceAccount: account } : {};
      return oauth.tokens.issueAccess({ account, client, scopes, isLasting: false, ...service }).token;
    },
    revokeConsent: (account: string): void => oauth.revoke(account),
    expireAccessTokens: (): void => oauth.tokens.expireAccess(),
    createServiceAccount: (email: string, delegation?: Delegation): ServiceAccountKeyFile =>
      serviceAccounts.create(email, server.url, delegation),
    delegate: (email: string, delegation: Delegation | undefined): void => serviceAccounts.delegate(email, delegation),
  };
}

function calendarVerbs({ world }: SandboxParts) {
  function calendarOf(id: string): Calendar {
    const calendar = world.calendars.get(id);
    if (!calendar) {
      throw new Error(`The sandbox has no calendar ${id}`);
    }
    return calendar;
  }
  function eventOf(calendar: Calendar, id: string): StoredEvent {
    const event = calendar.events.get(id);
    if (!event) {
      throw new Error(`The calendar has no event ${id}`);
    }
    return event;
  }
  function show(event: StoredEvent, calendar: Calendar): EventResource {
    return toResource(event, calendar, { role: 'owner', account: event.creator }, calendar.timeZone);
  }
  return {
    createCalendar: (account: string, summary: string, timeZone?: string): string =>
      world.createCalendar(account, {
        summary,
        ...(timeZone === undefined ? {} : { timeZone }),
      }).id,
    deleteCalendar: (calendarId: string): void => {
      world.deleteCalendar(calendarOf(calendarId).id);
    },
    setRole: (calendarId: string, account: string, role: Role): void => {
      world.setRule(calendarOf(calendarId), { type: 'user', value: account }, role);
    },
    events: (calendarId: string, options: { includeDeleted?: boolean } = {}): EventResource[] => {
      const calendar = calendarOf(calendarId);
      return [...calendar.events.values()]
        .filter((event) => options.includeDeleted || event.status !== 'cancelled')
        .map((event) => show(event, calendar));
    },
    event: (calendarId: string, eventId: string): EventResource | undefined => {
      const calendar = calendarOf(calendarId);
      const event = calendar.events.get(eventId);
      return event && show(event, calendar);
    },
    addByHand: (calendarId: string, fields: object): EventResource => {
      const calendar = calendarOf(calendarId);
      return show(addEvent(world, calendar, fields), calendar);
    },
    editByHand: (calendarId: string, eventId: string, changes: object): EventResource => {
      const calendar = calendarOf(calendarId);
      return show(editEvent(world, calendar, eventOf(calendar, eventId), changes), calendar);
    },
    deleteByHand: (calendarId: string, eventId: string): void => {
      const calendar = calendarOf(calendarId);
      cancelEvent(world, calendar, eventOf(calendar, eventId));
    },
    purge: (calendarId: string, eventId: string): void => {
      const calendar = calendarOf(calendarId);
      calendar.events.purge(eventOf(calendar, eventId));
    },
    expireSyncTokens: (): void => world.expireSyncTokens(),
  };
}
