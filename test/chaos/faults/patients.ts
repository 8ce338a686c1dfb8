import type { ProxiedAnswer } from '../../../sandbox/kit/fault-proxy.ts';
import type { Scene } from '../run/scene.ts';
import type { Lie } from '../world/world.ts';
import { type Fault, fault } from './fault.ts';
import { deskOf } from './records.ts';

interface List {
  data: { id: string; [member: string]: unknown }[];
  offset: number;
  limit: number;
  hasMore: boolean;
  total?: number | null;
}

const LIST = /\/tenants\/([^/]+)\/patients\?/;
const SINGLE = /\/tenants\/([^/]+)\/patients\/([^/?]+)(\?|$)/;
/** A patient that no clinic has. */
const NOBODY = 'pat-remaining-unknown';
const LONGEST_HEARING_MS = 6_000;
const PLANNING_MS = 3_000;
const AHEAD_MS = 65 * 60_000;

/**
 * What a single answer says of a patient that lists leave out. `thin`: id, names and consents; `names`: id and names; `id`: the id alone; `nobody`: a merge into a patient
 * whom the clinic does not show.
 */
const FORMS = ['thin', 'names', 'id', 'nobody'] as const;

function saying(form: string, scene: Scene, { url }: { url: string }, answer: ProxiedAnswer): ProxiedAnswer {
  const { id, firstName, lastName, consents } = JSON.parse(answer.body.toString()) as Record<string, unknown>;
  if (form === 'nobody' && scene.world.merges === 'redirect') {
    return { status: 301, headers: { location: url.replace(/[^/?]+(\?|$)/, `${NOBODY}$1`) }, body: '' };
  }
  const rows: Readonly<Record<string, object>> = {
    thin: { id, firstName, lastName, consents },
    names: { id, firstName, lastName },
    id: { id },
    nobody: { id, mergedInto: NOBODY },
  };
  return { ...answer, body: JSON.stringify(rows[form]) };
}

/** The clinic says less of a patient than it holds: no contact may lose anything by it. */
export const PATIENT_FAULTS: Readonly<Record<string, Fault>> = {
  'patient-thin': fault({
    group: 'lies',
    draw: (draw) => ({
      tenant: draw.upTo(2),
      which: draw.upTo(20),
      form: draw.pick(FORMS),
      later: draw.chance(0.4),
    }),
    async play(scene, { tenant, which, form, later }) {
      const { world } = scene;
      const desk = deskOf(scene, tenant);
      const ahead = desk.ahead();
      const about = ahead[which % Math.max(1, ahead.length)]?.patientId;
      let heard = Promise.withResolvers<void>();
      const lie: Lie = async (request, answer) => {
        if (request.method !== 'GET' || answer.status !== 200) return null;
        if (LIST.exec(request.url)?.[1] === desk.tenantId) {
          const asked = JSON.parse(answer.body.toString()) as List;
          const all = (await wholeList(scene, request)).filter(({ id }) => id !== about);
          const { offset, limit } = asked;
          const end = offset + limit;
          const list = { ...asked, data: all.slice(offset, end), hasMore: end < all.length, total: all.length };
          return { ...answer, body: JSON.stringify(list) };
        }
        const [, owner, id] = SINGLE.exec(request.url) ?? [];
        if (owner !== desk.tenantId || id !== about) return null;
        scene.count('patient-thin', form);
        heard.resolve();
        return saying(form, scene, request, answer);
      };
      world.lies.add(lie);
      const hear = async () => {
        await Promise.race([heard.promise, scene.after(LONGEST_HEARING_MS * scene.pace, () => {})]);
        // The cycle that heard it plans and writes.
        await scene.after(PLANNING_MS * scene.pace, () => {});
      };
      // A daemon reads patients when it starts, and then seldom.
      await scene.rollOver();
      await scene.wake();
      await hear();
      if (later) {
        heard = Promise.withResolvers<void>();
        scene.doubt('clock');
        for (const place of world.daemons) place.setClock(AHEAD_MS);
        await scene.wake();
        await hear();
      }
      return {
        cease() {
          world.lies.delete(lie);
          if (later) for (const place of world.daemons) place.setClock(0);
        },
      };
    },
  }),
  'patients-merged': fault({
    group: 'records',
    draw: (draw) => ({ tenant: draw.upTo(2), which: draw.upTo(20), into: draw.between(1, 19) }),
    async play(scene, { tenant, which, into }) {
      const desk = deskOf(scene, tenant);
      const ids = [...new Set(desk.ahead().flatMap(({ patientId }) => patientId ?? []))];
      const [from, to] = [ids[which % ids.length], ids[(which + into) % ids.length]];
      if (from === undefined || to === undefined || from === to) return {};
      desk.do((clinic) => clinic.mergePatient(desk.tenantId, from, to, scene.world.merges));
      scene.count('patients-merged');
      await scene.wake();
      return {};
    },
  }),
};

/** The same question without pages, past every gate. */
async function wholeList(
  { world }: Scene,
  { url, headers }: { url: string; headers: Record<string, string> },
): Promise<List['data']> {
  const address = new URL(url, world.clinic.baseUrl);
  address.searchParams.set('offset', '0');
  address.searchParams.set('limit', '200');
  const answer = await fetch(address, { headers: { authorization: headers.authorization ?? '' } });
  return answer.ok ? ((await answer.json()) as List).data : [];
}
