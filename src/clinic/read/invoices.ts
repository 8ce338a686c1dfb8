import type { Invoice } from '../../model/records.ts';
import type { Lookup, Snapshot } from '../../model/snapshots.ts';
import { type Clock, HOUR_MS, type Instant, MINUTE_MS } from '../../model/time.ts';
import type { ClinicContext } from '../http/call.ts';
import type { RowMapper } from '../http/rows.ts';
import type { Shape } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { invoice } from '../schema/shapes.ts';
import { withTombstones } from './appointment-rows.ts';
import { readWhole } from './lists.ts';
import { type ClinicRecord, createReadingCalls } from './reading-calls.ts';
import { compileSome } from './records.ts';

type BilledInvoice = ClinicRecord<'invoices'>;
type Episode = ClinicRecord<'episodes'>;
/** Where an invoice's lines come from; all that is looked at of it. */
export interface LinkedInvoice {
  items: readonly Pick<BilledInvoice['items'][number], 'linkedPractices'>[];
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
  const cachedEpisodes = new Map<string, { episode: Lookup<Episode>; readAt: Instant }>();

  async function episodesOf(tenantId: string, ids: string[], signal: AbortSignal) {
    const found = new Map<string, Lookup<Episode>>();
    const missing: string[] = [];
    for (const id of ids) {
      const stored = cachedEpisodes.get(keyOf(tenantId, id));
      if (stored !== undefined && clock() - stored.readAt <= EPISODE_LIFE_MS) found.set(id, stored.episode);
      else missing.push(id);
    }
    for (let start = 0; start < missing.length; start += READ_AT_ONCE) {
      const reads = missing.slice(start, start + READ_AT_ONCE).map(async (id) => {
        const episode = await readEpisode(tenantId, id, signal);
        found.set(id, episode);
        cachedEpisodes.set(keyOf(tenantId, id), { episode, readAt: clock() });
      });
      await Promise.all(reads);
    }
    while (cachedEpisodes.size > MOST_EPISODES) cachedEpisodes.delete(cachedEpisodes.keys().next().value as string);
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
  { episodeId, practiceId }: BilledInvoice['items'][number]['linkedPractices'][number],
  episodes: ReadonlyMap<string, Lookup<Episode>>,
): FollowedLink {
  const broken = (fault: LinkFault): FollowedLink => ({ episodeId, practiceId, practice: null, doctors: [], fault });
  if (episodeId === null || practiceId === null) return broken('link-incomplete');
  const episode = episodes.get(episodeId);
  if (episode === undefined || 'absent' in episode) return broken('episode-gone');
  if ('unusable' in episode) return broken('episode-unreadable');
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

/** Who took part is looked up again after this time, and at once where an invoice's links change: it is seldom corrected. */
const NAMES_LIFE_MS = 6 * HOUR_MS;

/** Names of the doctors behind invoices. */
export interface InvoiceDoctorNames {
  /** Each once. What keeps an episode from being read is thrown; those that were read are remembered. */
  of(tenantId: string, invoice: LinkedInvoice & { id: string }, signal: AbortSignal): Promise<readonly string[]>;
  /** Drops the names of all other invoices. */
  retainOnly(invoices: ReadonlyMap<string, unknown>): void;
}

/**
 * Remembers the names behind each invoice: a list is read every few minutes, and each of its invoices would cost a call or two.
 * @param resolve follows an invoice's lines
 */
export function createInvoiceDoctorNames(resolve: InvoiceResolver, clock: Clock): InvoiceDoctorNames {
  const stored = new Map<string, { links: string; names: readonly string[]; readAt: Instant }>();
  return {
    async of(tenantId, invoice, signal) {
      const links = JSON.stringify([tenantId, invoice.items.map(({ linkedPractices }) => linkedPractices)]);
      const remembered = stored.get(invoice.id);
      const readAt = clock();
      if (remembered?.links === links && readAt - remembered.readAt < NAMES_LIFE_MS) return remembered.names;
      const { doctors } = await resolve(tenantId, invoice, signal);
      const names = [...new Set(doctors.flatMap(nameOf))];
      stored.set(invoice.id, { links, names, readAt });
      return names;
    },
    retainOnly(invoices) {
      for (const id of stored.keys()) if (!invoices.has(id)) stored.delete(id);
    },
  };
}

/** Which invoices are wanted, and how much of them. */
export interface InvoiceQuery {
  /** Names of the doctors behind the lines: a call for each episode, at first, where links changed and after six hours. */
  withDoctors: boolean;
  /** Doctors are looked up for invoices of this date and later, `YYYY-MM-DD`; others have none. */
  doctorsFrom: string;
}

/** Invoices as a stream: without lines, whose texts tell what was done. */
export interface InvoiceReader {
  /** Every invoice; partial when the end of the list was not proved. Scope `invoices`; with doctors, `episodes` too. */
  readInvoices(tenantId: string, query: InvoiceQuery, signal: AbortSignal): Promise<Snapshot<Invoice>>;
  /** One invoice, with its doctors when they are wanted. */
  readInvoice(
    tenantId: string,
    id: string,
    query: Pick<InvoiceQuery, 'withDoctors'>,
    signal: AbortSignal,
  ): Promise<Lookup<Invoice>>;
}

/** Prepares the reader under the context's profile. */
export function createInvoiceReader(context: ClinicContext): InvoiceReader {
  const invoices = createReadingCalls(context, 'invoices', context.compiled.of(compileInvoiceRows));
  const resolve = createInvoiceResolver(createReadingCalls(context, 'episodes').read, context.clock);
  const names = createInvoiceDoctorNames(resolve, context.clock);

  async function invoiceOf(
    tenantId: string,
    listed: ListedInvoice,
    withDoctors: boolean,
    signal: AbortSignal,
  ): Promise<Invoice> {
    const { items: _lines, ...reported } = listed;
    return { ...reported, doctors: withDoctors ? await names.of(tenantId, listed, signal) : [] };
  }

  return {
    async readInvoices(tenantId, { withDoctors, doctorsFrom }, signal) {
      const listed = await readWhole((read) => invoices.list(tenantId, [], read), signal);
      const records = new Map<string, Invoice>();
      for (const [id, record] of listed.records) {
        const wanted = withDoctors && record.issueDate !== null && record.issueDate >= doctorsFrom;
        records.set(id, await invoiceOf(tenantId, record, wanted, signal));
      }
      if (listed.completeness === 'complete') names.retainOnly(records);
      return { ...listed, records };
    },
    async readInvoice(tenantId, id, { withDoctors }, signal) {
      const answer = await invoices.read(tenantId, id, signal);
      return 'found' in answer ? { found: await invoiceOf(tenantId, answer.found, withDoctors, signal) } : answer;
    },
  };
}

/** What is read of a list: lines as far as they lead to doctors. */
type ListedInvoice = Omit<Invoice, 'doctors'> & LinkedInvoice;

const { linkedPractices } = invoice.items.shape;
const LISTED = { ...invoice, items: { ...invoice.items, shape: { linkedPractices } } } satisfies Shape;

const LISTED_FIELDS = [
  ...(['id', 'patientId', 'number', 'documentType', 'status', 'issueDate'] as const),
  ...(['currency', 'totalAmount', 'paidAmount', 'items'] as const),
];

function compileInvoiceRows(profile: ClinicProfile): RowMapper<ListedInvoice> {
  return withTombstones(profile.invoices, compileSome(LISTED, LISTED_FIELDS, profile.invoices, profile));
}

function nameOf({ firstName, lastName }: Doctor): string[] {
  const name = [firstName, lastName].filter((part) => part !== null && part !== '').join(' ');
  return name === '' ? [] : [name];
}
