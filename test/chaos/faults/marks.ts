import { randomUUID } from 'node:crypto';
import type { RemoteObject } from '../judge/compare.ts';
import type { Scene } from '../run/scene.ts';
import { type CalendarTarget, PLANTED } from '../world/tenants.ts';
import type { Alteration } from '../world/world.ts';
import { type Draw, type Fault, fault } from './fault.ts';
import { davObject, putObject } from './hands.ts';

const HOUR_MS = 3_600_000;
/** The set of Graph's properties (docs of the target at Outlook). */
const GRAPH_SET = '9c8d4f1e-5b7a-4e0c-a3d6-2f71b86e40d5';
/** A long line goes on in lines that begin with a blank. */
const X_LINES = /^X-.*\r?\n(?:[ \t].*\r?\n)*/gm;

/** What a user's program does to an event when it writes the event again without our properties. */
type How = 'only' | 'note' | 'hour';

function later({ startAt, endAt }: RemoteObject) {
  return [startAt, endAt].map((at) => new Date(at + HOUR_MS).toISOString()) as [string, string];
}

function isTimed({ startAt, endAt }: RemoteObject): boolean {
  return endAt - startAt < 20 * HOUR_MS;
}

/** Writes an object again by a program that keeps name and UID, but none of our properties. */
async function writeUnmarked(scene: Scene, target: CalendarTarget, object: RemoteObject, how: How): Promise<void> {
  const { world } = scene;
  const [start, end] = later(object);
  if (target.service === 'google') {
    const zone = { timeZone: 'Europe/Rome' };
    const moved = { start: { dateTime: start, ...zone }, end: { dateTime: end, ...zone } };
    const { extendedProperties } = world.google.event(object.container, object.id) as {
      extendedProperties?: { private?: Record<string, string> };
    };
    const none = Object.fromEntries(Object.keys(extendedProperties?.private ?? {}).map((name) => [name, null]));
    world.google.editByHand(object.container, object.id, {
      ...{ extendedProperties: { private: none } },
      ...(how === 'hour' ? moved : how === 'note' ? { description: 'Bring the folder' } : {}),
    });
  } else if (target.service === 'graph') {
    const time = (text: string) => ({ dateTime: text.slice(0, 19), timeZone: 'UTC' });
    const event = world.graph.event(target.account, object.id) as {
      singleValueExtendedProperties?: { id: string }[];
    } | null;
    const ours = (event?.singleValueExtendedProperties ?? []).filter(({ id }) => id.toLowerCase().includes(GRAPH_SET));
    world.graph.editByHand(target.account, object.id, {
      singleValueExtendedProperties: ours.map(({ id }) => ({ id, value: null })),
      ...(how === 'hour' ? { start: time(start), end: time(end) } : {}),
      ...(how === 'note' ? { body: { contentType: 'text', content: 'Bring the folder' } } : {}),
    });
  } else {
    const found = await davObject(scene, target, object);
    if (found === null) return;
    const bare = found.text.replace(X_LINES, '');
    const text =
      how === 'hour'
        ? bare.replace(/^(DT(?:START|END)[^:]*:\d{8}T)(\d\d)/gm, (_, before: string, hour: string) => {
            return `${before}${String((Number(hour) + 1) % 24).padStart(2, '0')}`;
          })
        : how === 'note'
          ? bare.replace(/^END:VEVENT/m, 'COMMENT:Bring the folder\r\nEND:VEVENT')
          : bare;
    await putObject(found.url, text, found.authorization);
  }
}

function byProgram(name: string, hows: readonly How[], many: (draw: Draw) => number): Fault {
  return fault({
    group: 'marks',
    draw: (draw) => ({ target: draw.upTo(6), first: draw.upTo(30), many: many(draw), how: draw.pick(hows) }),
    async play(scene, { target: index, first, many: count, how }) {
      const target = scene.world.targets[index % scene.world.targets.length];
      if (target === undefined) return {};
      scene.readBack(target);
      const objects = (await target.read()).filter(({ title }) => PLANTED.test(title));
      for (let at = 0; at < Math.min(count, objects.length); at += 1) {
        const object = objects[(first + at) % objects.length];
        if (object === undefined) continue;
        const done = how === 'hour' && !isTimed(object) ? 'only' : how;
        if (done === 'hour') scene.touch(target, object);
        await writeUnmarked(scene, target, object, done);
        scene.unmarked.add(object.id);
        scene.count(name);
      }
      await scene.operator.checkTarget(target.tenant, target.target).catch(() => {});
      return {};
    },
  });
}

/**
 * Returns what a CalDAV server, or a proxy before it, does to new and changed objects. `name`: it drops all X- lines; `uid`: it also gives a new
 * object another name, once.
 */
function rebuilding(keeps: string, onWrite: () => void): Alteration {
  const renamed = new Set<string>();
  return (request) => {
    const { method, url, headers, body } = request;
    if (method !== 'PUT' || !body.startsWith('BEGIN:VCALENDAR')) return request;
    onWrite();
    const kept = { ...request, body: body.replace(X_LINES, '') };
    const isNew = headers['if-none-match'] === '*' && !renamed.has(url);
    if (keeps === 'name' || !isNew) return kept;
    renamed.add(url);
    return { ...kept, url: url.replace(/[^/]+$/, `${randomUUID()}.ics`) };
  };
}

/** Objects lose our properties, but neither name nor UID. */
export const MARK_FAULTS: Readonly<Record<string, Fault>> = {
  'marks-lost': byProgram('marks-lost', ['only'], (draw) => draw.pick([1, 3, 100])),
  'edited-unmarked': byProgram('edited-unmarked', ['note', 'hour'], (draw) => draw.between(1, 3)),
  'marks-dropped': fault({
    group: 'marks',
    draw: (draw) => ({ keeps: draw.pick(['name', 'name', 'uid']), forever: draw.chance(0.4) }),
    async play({ world, ...scene }, { keeps, forever }) {
      if (world.radicale === null) return {};
      const written = Promise.withResolvers<void>();
      const alteration = rebuilding(keeps, () => {
        scene.count('marks-dropped', keeps);
        written.resolve();
      });
      world.alterations.add(alteration);
      return {
        struck: written.promise,
        cease() {
          if (!forever) world.alterations.delete(alteration);
        },
      };
    },
  }),
};
