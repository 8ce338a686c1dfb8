import { MirrorError } from '../../core/model/errors.ts';
import { FEED_CONNECTOR } from '../../core/model/feeds.ts';
import { MINUTE_MS } from '../../core/model/time.ts';
import { message } from '../../messages/message.ts';
import { type Installation, requireTenant, settingsLocation } from '../../operator/control/installation.ts';
import { noPublicPort } from '../../operator/control/logins.ts';
import type { FeedView } from './schemas.ts';
import type { FeedDirectory } from './store.ts';

/** Base path of feeds, followed by the token and `.ics`. */
export const FEEDS_PATH = '/feeds';

/** Answer to a feed request. */
export type FeedAnswer =
  | { status: 200; tag: string; text: string }
  | { status: 304; tag: string }
  | { status: 404 }
  | { status: 429; retryAfterMs: number };

/** @param only one tenant; default: all */
export async function listFeeds(installation: Installation, only?: string): Promise<FeedView[]> {
  const ids = only === undefined ? [...installation.tenants.keys()] : [only];
  const views: FeedView[] = [];
  for (const id of ids) {
    const { feeds, targets } = requireTenant(installation, id);
    for (const { id: target, configuration } of targets.values()) {
      if (configuration.connector !== FEED_CONNECTOR) continue;
      views.push({ tenant: id, target, access: await feeds.access(target) });
    }
  }
  return views;
}

/**
 * Makes a new URL for a feed, shown only once. The previous URL stops working.
 * @param publicUrl base URL of the public port; null without a public port
 * @throws MirrorError `settings`, code `no-such-feed` or `no-public-port`
 */
export async function rotateFeed(
  installation: Installation,
  tenantId: string,
  target: string,
  publicUrl: string | null,
): Promise<{ url: string; hadOne: boolean }> {
  const { feeds } = requireFeed(installation, tenantId, target);
  if (publicUrl === null) throw noPublicPort(message('port.no-feed'));
  const hadOne = (await feeds.access(target)) !== null;
  const token = await feeds.rotate(target, installation.clock());
  return { url: `${publicUrl}${FEEDS_PATH}/${token}.ics`, hadOne };
}

/** Withdraws the URL of a feed, which then answers 404. @throws MirrorError `settings`, code `no-such-feed` */
export async function withdrawFeed(
  installation: Installation,
  tenantId: string,
  target: string,
): Promise<{ hadOne: boolean }> {
  const { feeds } = requireFeed(installation, tenantId, target);
  return { hadOne: await feeds.withdraw(target) };
}

const TOKEN = /^[\w-]{43}$/;

/**
 * Serves a feed to a client that knows the URL, without querying vendor or clinic. Unknown, withdrawn and no longer configured URLs have
 * equal answers.
 * @param caller client of the request, for limits
 * @param cachedTag tag of the client's copy (`If-None-Match`)
 */
export async function showFeed(
  { installation, directory }: { installation: Installation; directory: FeedDirectory },
  token: string,
  caller: string,
  cachedTag: string | null,
): Promise<FeedAnswer> {
  if (!TOKEN.test(token)) return { status: 404 };
  const now = installation.clock();
  if (!(await directory.admit(token, caller, now))) return { status: 429, retryAfterMs: MINUTE_MS };
  const feed = await directory.find(token);
  const tenant = feed === null ? undefined : installation.tenants.get(feed.tenant);
  const target = tenant?.targets.get(feed?.target ?? '');
  if (tenant === undefined || target?.configuration.connector !== FEED_CONNECTOR) return { status: 404 };
  const { feeds } = tenant;
  if (!(await feeds.isCurrent(target.id, token))) return { status: 404 };
  await feeds.recordFetch(target.id, now);
  const feedStore = feeds.feedStore(target.id);
  // The tag is read before the content, so that a concurrent change produces a new tag.
  const tag = `"${await feedStore.version()}"`;
  if (cachedTag !== null && isAmong(tag, cachedTag)) return { status: 304, tag };
  const { calendarText } = await import('../../connectors/icalendar.ts');
  const { name } = target.configuration.settings as { name: string };
  return { status: 200, tag, text: calendarText(name, await feedStore.entries()) };
}

/** RFC 9110 section 13.1.2: a list of tags matches by any tag, and weak tags match. */
function isAmong(tag: string, cachedTags: string): boolean {
  return cachedTags.split(',').some((each) => each.trim().replace(/^W\//, '') === tag);
}

function requireFeed(installation: Installation, tenantId: string, target: string) {
  const tenant = requireTenant(installation, tenantId);
  if (tenant.targets.get(target)?.configuration.connector === FEED_CONNECTOR) return tenant;
  const feeds = [...tenant.targets.values()].filter(({ configuration }) => configuration.connector === FEED_CONNECTOR);
  throw new MirrorError(message('no-such-feed', { tenantId, target }), {
    actor: 'settings',
    code: 'no-such-feed',
    retry: 'never',
    remedy:
      feeds.length === 0
        ? message('no-such-feed.remedy', { location: settingsLocation(installation, tenantId) })
        : message('available-names', { names: feeds.map(({ id }) => id).join(', ') }),
  });
}
