import type { ProxiedAnswer, ProxiedRequest } from '../../../sandbox/kit/fault-proxy.ts';
import { seededRandom } from '../../../sandbox/kit/random.ts';
import { Denials } from '../judge/denials.ts';
import type { Scene } from '../run/scene.ts';
import type { Lie } from '../world/world.ts';
import { type Ceasing, type Draw, type Fault, fault } from './fault.ts';

interface Row {
  id: string;
  [member: string]: unknown;
}

interface List {
  data: Row[];
  offset: number;
  limit: number;
  /** Absent where the clinic says it in other words only. */
  hasMore?: boolean;
  total?: number | null;
}

const LIST = /\/tenants\/([^/]+)\/appointments\?/;
const SINGLE = /\/tenants\/([^/]+)\/appointments\/([^/?]+)(\?|$)/;
const NOT_FOUND: ProxiedAnswer = {
  status: 404,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify({ error: 'not_found', message: 'No such appointment' }),
};

/** Changes that a lie makes to one page, and to a record requested singly. */
interface Story {
  page(list: List, request: ProxiedRequest): List | Promise<List>;
  /** Whether a record that was missing in the pages is also missing in a single request. */
  hides: boolean;
  /** The answers contradict each other: a daemon can notice this, and must not believe them. */
  isBetrayed: boolean;
  /** Applies to complete reads: no daemon could notice a lie in half of a read, between true rows. */
  isOfWholeReadings?: boolean;
}

/** Every lie is about one tenant, or about all. */
const drawLie = (draw: Draw) => ({
  tenant: draw.upTo(3),
  singles: draw.chance(0.5),
  lasting: draw.chance(0.4),
});

function tell(scene: Scene, name: string, { tenant, singles }: { tenant: number; singles: boolean }, story: Story) {
  const desks = [...scene.world.tenants.values()];
  const about = desks[tenant]?.tenantId;
  const shown = new Set<string>();
  const denials = new Denials();
  scene.denials.push(denials);
  const heard = Promise.withResolvers<void>();
  let pages = 0;
  const readings = wholeReadings();
  let isEnding = false;
  const end = () => {
    if (scene.world.lies.delete(lie) && !story.isBetrayed) scene.endLie();
  };
  const lie: Lie = async (request, answer) => {
    if (request.method !== 'GET') return null;
    const [, listed] = LIST.exec(request.url) ?? [];
    const [, owner, id = ''] = SINGLE.exec(request.url) ?? [];
    if (about !== undefined && (listed ?? owner) !== about) return null;
    if (listed !== undefined && answer.status === 200) {
      const asked = JSON.parse(answer.body.toString()) as List;
      const isTold = readings.isTold(listed, asked, request, isEnding);
      if (story.isOfWholeReadings === true && !isTold) {
        if (isEnding && readings.areOver()) end();
        return null;
      }
      const list = await story.page(asked, request);
      for (const row of list.data) shown.add(row.id);
      pages += 1;
      // One read with a lie counts once, for any number of pages.
      if (list.offset === 0) scene.count(name);
      if (pages >= 4) heard.resolve();
      return { ...answer, body: JSON.stringify(list) };
    }
    if (owner === undefined || !singles || !story.hides || shown.has(id)) return null;
    denials.deny(id, readings.beganAt(owner), Date.now());
    return NOT_FOUND;
  };
  scene.world.lies.add(lie);
  if (!story.isBetrayed) scene.beginLie();
  const ceasing: Ceasing = {
    struck: heard.promise,
    cease() {
      isEnding = true;
      if (story.isOfWholeReadings !== true || readings.areOver()) end();
    },
  };
  return ceasing;
}

/**
 * Recognizes reads that began with a lie. A read is one list call for each part of its time range, in order; a list that changed is
 * requested again. A call that goes back in time starts another read. A read that is already running at the first call stays unknown.
 */
function wholeReadings() {
  const begun = new Set<string>();
  const lastFrom = new Map<string, string>();
  const starts = readingStarts();
  return {
    areOver: () => begun.size === 0,
    beganAt: starts.beganAt,
    isTold(clinic: string, { offset }: List, request: ProxiedRequest, isEnding: boolean): boolean {
      if (offset === 0) {
        starts.note(clinic, request, Date.now());
        // A day: each read begins some seconds later than the previous one.
        const from = partOf(request).from.slice(0, 10);
        const isAnother = from < (lastFrom.get(clinic) ?? '');
        lastFrom.set(clinic, from);
        if (isAnother && isEnding) begun.delete(clinic);
        else if (isAnother) begun.add(clinic);
      }
      return begun.has(clinic);
    },
  };
}

/** Detects the start of clinics' reads from their requests: a read continues at the end of its last call. */
export function readingStarts() {
  const startedTo = new Map<string, number>();
  const latest = new Map<string, number>();
  return {
    /** Records a call for a part of a read, or a repetition of the call. */
    note(clinic: string, request: Pick<ProxiedRequest, 'url'>, now: number): void {
      const { from, to } = partOf(request);
      const beganAt = startedTo.get(`${clinic} ${from}`) ?? startedTo.get(`${clinic} ${to}`) ?? now;
      startedTo.set(`${clinic} ${to}`, beganAt);
      if (Date.parse(to) > now) latest.set(clinic, beganAt);
    },
    /**
     * Epoch ms at which the last read of a clinic began that includes future appointments. Past appointments are read in parallel, for
     * CRMs.
     */
    beganAt: (clinic: string) => latest.get(clinic) ?? Date.now(),
  };
}

function partOf({ url }: Pick<ProxiedRequest, 'url'>): { from: string; to: string } {
  const asked = new URLSearchParams(url.split('?')[1]);
  return { from: asked.get('from') ?? '', to: asked.get('to') ?? '' };
}

/** Ways to say that a list goes on, in words that no profile of the harness names. */
const SIGNS = ['altre', 'totale', 'token', 'wrapped'] as const;

function signOf(sign: string, total: number): object {
  switch (sign) {
    case 'altre':
      return { altre: 'S' };
    case 'totale':
      return { totaleRighe: total };
    case 'token':
      return { nextPageToken: 'bm9jaA' };
    default:
      return { risposta: { esito: 'OK', conteggio: String(total) } };
  }
}

/** The clinic answers something else than what it holds. */
export const LIE_FAULTS: Readonly<Record<string, Fault>> = {
  'list-truncated': fault({
    group: 'lies',
    weight: 2,
    draw: (draw) => ({ ...drawLie(draw), keep: draw.between(1, 26), betrayed: draw.chance(0.4) }),
    play: async (scene, given) =>
      tell(scene, 'list-truncated', given, {
        hides: true,
        isBetrayed: given.betrayed,
        page(list) {
          const rows = list.data.slice(0, Math.max(0, given.keep - list.offset));
          const isLast = list.offset + list.data.length >= given.keep || !list.hasMore;
          return { ...list, data: rows, hasMore: !isLast, total: given.betrayed ? (list.total ?? null) : given.keep };
        },
      }),
  }),
  // No field that the profile names says so, but another one outside the rows does.
  'list-more-told': fault({
    group: 'lies',
    weight: 2,
    draw: (draw) => ({ ...drawLie(draw), keep: draw.between(1, 26), sign: draw.pick(SIGNS) }),
    play: async (scene, given) =>
      tell(scene, 'list-more-told', given, {
        hides: true,
        isBetrayed: true,
        page({ data, offset, limit, hasMore, total }) {
          const rows = data.slice(0, Math.max(0, given.keep - offset));
          const all = total ?? offset + data.length + (hasMore === true ? 1 : 0);
          return { data: rows, offset, limit, ...(all > given.keep ? signOf(given.sign, all) : {}) };
        },
      }),
  }),
  'list-empty': fault({
    group: 'lies',
    draw: drawLie,
    play: async (scene, given) =>
      tell(scene, 'list-empty', given, {
        hides: true,
        isBetrayed: false,
        page: (list) => ({ ...list, data: [], hasMore: false, total: 0 }),
      }),
  }),
  'rows-dropped': fault({
    group: 'lies',
    draw: (draw) => ({
      ...drawLie(draw),
      share: draw.pick([0.05, 0.15, 0.3, 0.7]),
      once: draw.chance(0.3),
      seed: draw.upTo(1_000_000),
    }),
    play: async (scene, given) =>
      tell(scene, 'rows-dropped', given, { hides: true, isBetrayed: false, page: dropper(scene, given) }),
  }),
  'list-shuffled': fault({
    group: 'lies',
    draw: (draw) => ({ ...drawLie(draw), singles: false, seed: draw.upTo(1_000_000) }),
    async play(scene, given) {
      const random = seededRandom(given.seed);
      return tell(scene, 'list-shuffled', given, {
        hides: false,
        isBetrayed: true,
        async page(list, request) {
          const all = await wholeList(scene, request);
          const rows = all.map((row) => ({ row, at: random() })).sort((one, other) => one.at - other.at);
          return { ...list, data: rows.slice(list.offset, list.offset + list.data.length).map(({ row }) => row) };
        },
      });
    },
  }),
  'list-foreign': fault({
    group: 'lies',
    draw: (draw) => ({ ...drawLie(draw), sameIds: draw.chance(0.5), tenant: draw.upTo(2) }),
    async play(scene, given) {
      const desks = [...scene.world.tenants.values()];
      const [own, other] = [desks[given.tenant % desks.length], desks[(given.tenant + 1) % desks.length]];
      return tell(scene, 'list-foreign', given, {
        hides: true,
        isBetrayed: false,
        isOfWholeReadings: true,
        async page(list, request) {
          const foreign = await wholeList(scene, request, other?.tenantId);
          const rows = foreign.slice(list.offset, list.offset + list.limit);
          // Agendas as this clinic has them, so that the rows would go somewhere.
          const agendas = own?.agendaIds ?? [];
          const data = rows.map((row, index) => ({
            ...row,
            id: given.sameIds ? (list.data[index]?.id ?? row.id) : row.id,
            agendaId: agendas[(other?.agendaIds ?? []).indexOf(String(row.agendaId))] ?? row.agendaId,
          }));
          return { ...list, data, hasMore: list.offset + rows.length < foreign.length, total: foreign.length };
        },
      });
    },
  }),
  'record-404': fault({
    group: 'lies',
    draw: (draw) => ({ tenant: draw.upTo(3) }),
    async play(scene, { tenant }) {
      const about = [...scene.world.tenants.values()][tenant]?.tenantId;
      const lie: Lie = async ({ method, url }) => {
        const [, owner] = SINGLE.exec(url) ?? [];
        if (method !== 'GET' || owner === undefined || (about !== undefined && owner !== about)) return null;
        scene.count('record-404');
        return NOT_FOUND;
      };
      scene.world.lies.add(lie);
      scene.beginLie();
      return {
        cease() {
          scene.world.lies.delete(lie);
          scene.endLie();
        },
      };
    },
  }),
};

/**
 * Drops rows from reads, as if the clinic did not have them; each read drops other rows.
 * @param once only in the first read of future appointments of each clinic; past ones are read separately, for CRMs
 */
function dropper(scene: Scene, { share, once, seed }: { share: number; once: boolean; seed: number }): Story['page'] {
  const random = seededRandom(seed);
  const readings = new Map<string, Row[]>();
  const lied = new Set<string>();
  return async (list, request) => {
    const [, clinic = ''] = LIST.exec(request.url) ?? [];
    if (list.offset === 0) {
      const all = await wholeList(scene, request);
      const isAhead = Date.parse(partOf(request).to) > Date.now();
      const isTrue = once && (lied.has(clinic) || !isAhead);
      readings.set(clinic, isTrue ? all : all.filter(() => random() >= share));
      if (isAhead) lied.add(clinic);
    }
    const rows = readings.get(clinic) ?? list.data;
    const { offset, limit } = list;
    return { data: rows.slice(offset, offset + limit), offset, limit, hasMore: offset + limit < rows.length };
  };
}

/** The same question without pages, past every gate. @param tenantId another clinic than the request's */
async function wholeList(scene: Scene, { url, headers }: ProxiedRequest, tenantId?: string): Promise<Row[]> {
  const [, asked = ''] = LIST.exec(url) ?? [];
  const address = new URL(tenantId === undefined ? url : url.replace(asked, tenantId), scene.world.clinic.baseUrl);
  address.searchParams.set('offset', '0');
  address.searchParams.set('limit', '200');
  if (tenantId !== undefined) address.searchParams.delete('agendaId');
  const authorization = tenantId === undefined ? (headers.authorization ?? '') : (scene.tokens.get(tenantId) ?? '');
  const answer = await fetch(address, { headers: { authorization } });
  return answer.ok ? ((await answer.json()) as List).data : [];
}
