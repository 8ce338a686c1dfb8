import type { Lookup } from '../../model/snapshots.ts';
import type { Clock, Instant } from '../../model/time.ts';
import { MINUTE_MS } from '../../model/time.ts';
import type { ClinicRecord } from './reading-calls.ts';

type Invoice = ClinicRecord<'invoices'>;
type Episode = ClinicRecord<'episodes'>;
/** Where an invoice's lines come from; all that is looked at of it. */
export interface LinkedInvoice {
  items: readonly Pick<Invoice['items'][number], 'linkedPractices'>[];
}
/** A service that was delivered. */
export type Practice = Episode['practices'][number];
/** Somebody who took part in it. */
export type Doctor = Practice['doctors'][number];

/** Why a link leads to no practice. */
export type LinkFault = 'link-incomplete' | 'episode-gone' | 'episode-unreadable' | 'practice-unknown';

/** A link of a line, followed to its end (specification section 2.3). */
export interface FollowedLink {
  episodeId: string | null;
  practiceId: string | null;
  practice: Practice | null;
  /** Those of the practice; none where it tells none. */
  doctors: Doctor[];
  /** Null when the practice was found. */
  fault: LinkFault | null;
}

/** What stands behind an invoice's lines, in their order. */
export interface ResolvedInvoice {
  lines: { links: FollowedLink[]; doctors: Doctor[] }[];
  /** Everybody who took part in any line, each once. */
  doctors: Doctor[];
}

/** Episodes change seldom; a list of invoices asks for the same ones again and again. */
const EPISODE_LIFE_MS = 5 * MINUTE_MS;
const MOST_EPISODES = 500;
const READ_AT_ONCE = 4;

/** Follows an invoice's lines to the doctors behind them. Episodes are read a few at a time, each once, and kept for a while. */
export type InvoiceResolver = (
  tenantId: string,
  invoice: LinkedInvoice,
  signal: AbortSignal,
) => Promise<ResolvedInvoice>;

/**
 * @param readEpisode what it throws is thrown on; an episode that is absent or unreadable is a fault of its link
 */
export function createInvoiceResolver(
  readEpisode: (tenantId: string, id: string, signal: AbortSignal) => Promise<Lookup<Episode>>,
  clock: Clock,
): InvoiceResolver {
  const kept = new Map<string, { episode: Lookup<Episode>; readAt: Instant }>();

  async function episodesOf(tenantId: string, ids: string[], signal: AbortSignal) {
    const found = new Map<string, Lookup<Episode>>();
    const missing: string[] = [];
    for (const id of ids) {
      const known = kept.get(keyOf(tenantId, id));
      if (known !== undefined && clock() - known.readAt <= EPISODE_LIFE_MS) found.set(id, known.episode);
      else missing.push(id);
    }
    for (let start = 0; start < missing.length; start += READ_AT_ONCE) {
      const reads = missing.slice(start, start + READ_AT_ONCE).map(async (id) => {
        const episode = await readEpisode(tenantId, id, signal);
        found.set(id, episode);
        kept.set(keyOf(tenantId, id), { episode, readAt: clock() });
      });
      await Promise.all(reads);
    }
    while (kept.size > MOST_EPISODES) kept.delete(kept.keys().next().value as string);
    return found;
  }

  return async (tenantId, invoice, signal) => {
    const links = invoice.items.flatMap((line) => line.linkedPractices);
    const ids = links.flatMap(({ episodeId, practiceId }) =>
      episodeId === null || practiceId === null ? [] : [episodeId],
    );
    const episodes = await episodesOf(tenantId, [...new Set(ids)], signal);
    const lines = invoice.items.map((line) => {
      const followed = line.linkedPractices.map((link) => follow(link, episodes));
      return { links: followed, doctors: eachOnce(followed.flatMap(({ doctors }) => doctors)) };
    });
    return { lines, doctors: eachOnce(lines.flatMap(({ doctors }) => doctors)) };
  };
}

function follow(
  { episodeId, practiceId }: Invoice['items'][number]['linkedPractices'][number],
  episodes: ReadonlyMap<string, Lookup<Episode>>,
): FollowedLink {
  const broken = (fault: LinkFault): FollowedLink => ({ episodeId, practiceId, practice: null, doctors: [], fault });
  if (episodeId === null || practiceId === null) return broken('link-incomplete');
  const episode = episodes.get(episodeId);
  if (episode === undefined || 'absent' in episode) return broken('episode-gone');
  if ('setAside' in episode) return broken('episode-unreadable');
  const practice = episode.found.practices.find((one) => one.practiceId === practiceId);
  if (practice === undefined) return broken('practice-unknown');
  return { episodeId, practiceId, practice, doctors: practice.doctors, fault: null };
}

function eachOnce(doctors: Doctor[]): Doctor[] {
  return [...new Map(doctors.map((doctor) => [doctor.id, doctor])).values()];
}

function keyOf(tenantId: string, id: string): string {
  return JSON.stringify([tenantId, id]);
}
