import { expect, test } from 'vitest';
import type { ProxiedRequest } from '../../sandbox/kit/fault-proxy.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { message, render } from '../../src/messages/message.ts';
import { EXPLAIN } from '../../src/operator/documents/texts/explain.ts';
import { DavHands } from '../connectors/caldav/dav-hands.ts';
import { firstAccount } from '../connectors/caldav/dav-target.ts';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { runUntilInSync, start } from './support/daemons.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

const APPOINTMENTS = 20;
const OUR_MARK = /^X-CLINIC-MIRROR/m;

/** Drops what a strict server does not know: every extension, with its continued lines (RFC 5545 section 3.1). */
function withoutMarks(request: ProxiedRequest): ProxiedRequest {
  return { ...request, body: request.body.replaceAll(/^X-[^\r\n]*\r?\n(?:[ \t][^\r\n]*\r?\n)*/gm, '') };
}

test('a server that drops every mark shows each appointment once, through audits, changes and edits of users', async () => {
  const world = await useSmallWorld({
    ...{ redisUrl: redis.url, davServer: radicale(), targets: ['caldav'], appointments: 0 },
    target: { audit: { drift: 'repair' } },
  });
  const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
  const { proxy } = world.targets[0] as SmallTarget;
  const drop = { kind: 'rewrite', request: withoutMarks } as const;
  proxy.add({ method: /^PUT$/, times: Number.POSITIVE_INFINITY, fault: drop });
  const [moved, cancelled] = Array.from({ length: APPOINTMENTS }, () =>
    world.clinic.book(clinicId, { agendaId: agendaIds[0] ?? '' }),
  );
  const daemon = start(world);
  await runUntilInSync(world, [daemon]);
  const hands = new DavHands(firstAccount(radicale()));
  const texts = async () => {
    const paths = (await Promise.all((await hands.calendars()).map((calendar) => hands.members(calendar)))).flat();
    return new Map(await Promise.all(paths.map(async (path) => [path, await textAt(path)] as const)));
  };
  const textAt = async (path: string) => (await hands.send('GET', path)).text();
  const expectEvents = async (count: number) => {
    const events = await texts();
    expect(events.size).toBe(count);
    expect([...events.values()].filter((text) => OUR_MARK.test(text))).toEqual([]);
    await expectExact(world);
  };
  await expectEvents(APPOINTMENTS);

  proxy.forget();
  for (let audits = 0; audits < 3; audits += 1) {
    expect(await world.cli('audit', 'clinic-1')).toMatchObject({ code: 0 });
    await runUntilInSync(world, [daemon]);
    await expectEvents(APPOINTMENTS);
  }
  expect(writesAt(proxy)).toEqual([]);
  for (const command of [['status'], ['doctor', 'clinic-1'], ['config', 'check', '--live', 'clinic-1']]) {
    const { out } = await world.cli(...command);
    expect(out.replaceAll(/\s+/g, ' ').split(render(message('marks-dropped'))).length - 1, out).toBe(1);
  }
  const { out: explained } = await world.cli('explain', 'clinic-1', moved!.id);
  expect(explained.replaceAll(/\s+/g, ' ')).toContain(EXPLAIN.en.unmarked);

  world.clinic.move(clinicId, moved!.id, { start: moved!.start + 90 * DAY_MS });
  await runUntilInSync(world, [daemon]);
  expect(writesAt(proxy)).toEqual(['PUT']);
  await expectEvents(APPOINTMENTS);
  world.clinic.cancel(clinicId, cancelled!.id);
  await runUntilInSync(world, [daemon]);
  expect(writesAt(proxy)).toEqual(['PUT', 'DELETE']);
  await expectEvents(APPOINTMENTS - 1);

  const [[path] = ['']] = await texts();
  await hands.change(path, (event) => void event.updatePropertyWithValue('summary', 'Golf'));
  expect(await world.cli('audit', 'clinic-1')).toMatchObject({ code: 0 });
  await waitFor(async () => !(await textAt(path)).includes('Golf'), { what: 'the event as the clinic has it' });
  await runUntilInSync(world, [daemon]);
  await expectEvents(APPOINTMENTS - 1);
});
