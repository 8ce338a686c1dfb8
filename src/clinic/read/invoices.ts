import type { Invoice } from '../../core/model/records.ts';
import type { Lookup, Snapshot } from '../../core/model/snapshots.ts';
import { type Clock, HOUR_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
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
/** The links of an invoice's lines; other fields are not used. */
export interface LinkedInvoice {
  items: readonly Pick<BilledInvoice['items'][number], 'linkedPractices'>[];
}
/** A delivered service. */
export type Practice = Episode['practices'][number];
/** A participant in a service. */
export type Doctor = Practice['doctors'][number];

/** Why a link has no practice. */
export type LinkFault = 'link-incomplete' | 'episode-gone' | 'episode-unreadable' | 'practice-unknown';

/** A line's link, resolved (specification section 2.3). */
export interface FollowedLink {
  episodeId: string | null;
  practiceId: string | null;
  practice: Practice | null;
  /** Doctors of the practice; empty if it lists none. */
  doctors: Doctor[];
  /** Null if the practice was found. */
  fault: LinkFault | null;
}

/** Links and doctors of an invoice's lines, in order. */
export interface ResolvedInvoice {
  lines: { links: FollowedLink[]; doctors: Doctor[] }[];
  /** All participants of any line, without repetition. */
  doctors: Doctor[];
}

/** Episodes rarely change, and a list of invoices requests the same ones repeatedly. */
const EPISODE_LIFE_MS = 5 * MINUTE_MS;
const MOST_EPISODES = 500;
const READ_AT_ONCE = 4;

/** Resolves an invoice's lines to doctors. Reads a few episodes simultaneously, each once, and caches them. */
export type InvoiceResolver = (
  tenantId: string,
  invoice: LinkedInvoice,
  signal: AbortSignal,
) => Promise<ResolvedInvoice>;

/**
 * Creates a resolver.
 * @param readEpisode its errors are rethrown; an absent or unreadable episode is a fault of its link
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

/** Lifetime of cached names, which are rarely corrected. A changed link of an invoice causes an immediate read. */
const NAMES_LIFE_MS = 6 * HOUR_MS;

/** Names of invoices' doctors. */
export interface InvoiceDoctorNames {
  /** Returns the names without repetition. An error of an episode's read is thrown; episodes already read remain cached. */
  of(tenantId: string, invoice: LinkedInvoice & { id: string }, signal: AbortSignal): Promise<readonly string[]>;
  /** Deletes the names of all other invoices. */
  retainOnly(invoices: ReadonlyMap<string, unknown>): void;
}

/**
 * Caches each invoice's names: a list is read every few minutes, and each of its invoices would need one or two calls.
 * @param resolve resolves an invoice's lines
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

/** Requested invoices and details. */
export interface InvoiceQuery {
  /** Whether to read the doctors' names: one call per episode, at first, after changed links, and after six hours. */
  withDoctors: boolean;
  /** Doctors are read only for invoices from this date, `YYYY-MM-DD`. */
  doctorsFrom: string;
}

/** Reads invoices without lines, because the lines' texts describe treatments. */
export interface InvoiceReader {
  /** Reads every invoice; partial if the end of the list is unproven. Scope `invoices`; with doctors also `episodes`. */
  readInvoices(tenantId: string, query: InvoiceQuery, signal: AbortSignal): Promise<Snapshot<Invoice>>;
  /** Reads one invoice, with doctors if requested. */
  readInvoice(
    tenantId: string,
    id: string,
    query: Pick<InvoiceQuery, 'withDoctors'>,
    signal: AbortSignal,
  ): Promise<Lookup<Invoice>>;
}

/** Creates a reader for the context's profile. */
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
      if ('found' in answer) return { found: await invoiceOf(tenantId, answer.found, withDoctors, signal) };
      return 'absent' in answer ? { absent: true } : answer;
    },
  };
}

/** An invoice of a list: its lines contain only links. */
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
