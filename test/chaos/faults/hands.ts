import { eventsOf } from '../../../sandbox/kit/icalendar.ts';
import type { RemoteObject } from '../judge/compare.ts';
import { basic, davMembers } from '../judge/read.ts';
import type { Scene } from '../run/scene.ts';
import { type CalendarTarget, PLANTED } from '../world/tenants.ts';
import { type Draw, type Fault, fault } from './fault.ts';

/** Manual changes to the objects of one target. */
interface Hands {
  retitle(scene: Scene, target: CalendarTarget, object: RemoteObject): Promise<void>;
  move(scene: Scene, target: CalendarTarget, object: RemoteObject): Promise<void>;
  remove(scene: Scene, target: CalendarTarget, object: RemoteObject): Promise<void>;
}

const LATER_MS = 5_400_000;

function googleTimes({ startAt, endAt }: RemoteObject): object {
  const time = (at: number) => ({ dateTime: new Date(at + LATER_MS).toISOString(), timeZone: 'Europe/Rome' });
  return { start: time(startAt), end: time(endAt) };
}

function graphTimes({ startAt, endAt }: RemoteObject): object {
  const time = (at: number) => ({ dateTime: new Date(at + LATER_MS).toISOString().slice(0, 19), timeZone: 'UTC' });
  return { start: time(startAt), end: time(endAt) };
}

const GOOGLE: Hands = {
  async retitle({ world }, _, { container, id, title }) {
    world.google.editByHand(container, id, { summary: `${title} (!)` });
  },
  async move({ world }, _, object) {
    world.google.editByHand(object.container, object.id, googleTimes(object));
  },
  async remove({ world }, _, { container, id }) {
    world.google.deleteByHand(container, id);
  },
};

const GRAPH: Hands = {
  async retitle({ world }, { account }, { id, title }) {
    world.graph.editByHand(account, id, { subject: `${title} (!)` });
  },
  async move({ world }, { account }, object) {
    world.graph.editByHand(account, object.id, graphTimes(object));
  },
  async remove({ world }, { account }, { id }) {
    world.graph.deleteByHand(account, id);
  },
};

/** Finds the object's URL, which a user's client knows. */
export async function davObject({ world }: Scene, target: CalendarTarget, { id, container }: RemoteObject) {
  const user = world.radicale?.users.find(({ name }) => name === target.tenant);
  const login = { username: user?.name ?? '', password: user?.password ?? '' };
  const authorization = basic(login);
  for (const url of await davMembers(container, login)) {
    const answer = await fetch(url, { headers: { authorization } });
    const text = await answer.text();
    if (answer.ok && text.startsWith('BEGIN:VCALENDAR') && eventsOf(text).some((event) => event.id === id)) {
      return { url, text, authorization };
    }
  }
  return null;
}

/** Writes an object as a user's program does. */
export async function putObject(url: string, body: string, authorization: string): Promise<void> {
  await fetch(url, { method: 'PUT', body, headers: { authorization, 'content-type': 'text/calendar' } });
}

const CALDAV: Hands = {
  async retitle(scene, target, object) {
    const found = await davObject(scene, target, object);
    if (found === null) return;
    const text = found.text.replace(/^(SUMMARY[^:]*:.*)$/m, '$1 (!)');
    await putObject(found.url, text, found.authorization);
  },
  // Some clients give an object another name when they move it.
  async move(scene, target, object) {
    const found = await davObject(scene, target, object);
    if (found === null) return;
    const { url, text, authorization } = found;
    await fetch(url, { method: 'DELETE', headers: { authorization } });
    await putObject(url.replace(/[^/]+$/, 'moved-by-hand.ics'), text, authorization);
  },
  async remove(scene, target, object) {
    const found = await davObject(scene, target, object);
    if (found === null) return;
    await fetch(found.url, { method: 'DELETE', headers: { authorization: found.authorization } });
  },
};

const HANDS = { google: GOOGLE, graph: GRAPH, caldav: CALDAV };

function byHand(name: string, verb: keyof Hands, many: (draw: Draw) => number): Fault {
  return fault({
    group: 'hands',
    draw: (draw) => ({ target: draw.upTo(6), first: draw.upTo(30), many: many(draw) }),
    async play(scene, { target: index, first, many: count }) {
      const target = scene.world.targets[index % scene.world.targets.length];
      if (target === undefined) return {};
      const objects = (await target.read()).filter(({ title }) => PLANTED.test(title));
      for (let at = 0; at < Math.min(count, objects.length); at += 1) {
        const object = objects[(first + at) % objects.length];
        if (object === undefined) continue;
        scene.touch(target, object);
        await HANDS[target.service][verb](scene, target, object);
        scene.count(name);
      }
      return {};
    },
  });
}

/** Changes that users make in the calendars. */
export const HAND_FAULTS: Readonly<Record<string, Fault>> = {
  edited: byHand('edited', 'retitle', (draw) => draw.between(1, 3)),
  moved: byHand('moved', 'move', () => 1),
  removed: byHand('removed', 'remove', (draw) => draw.between(1, 3)),
  emptied: byHand('emptied', 'remove', () => 100),
};
