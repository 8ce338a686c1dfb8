import { expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../../src/core/model/time.ts';
import type { Visitor } from '../../../../src/operator/http-server/operators.ts';
import {
  book,
  createReminderWorld,
  patientOf,
  type ReminderWorld,
} from '../../../features/reminders/reminder-world.ts';
import { useRedis } from '../../../support/redis.ts';
import { openInstallation } from '../../control/open-installation.ts';
import { OWNER, openPages } from './open-pages.ts';

const redis = useRedis({ appendOnly: false });
const CLINIC = '/tenants/studio-rossi';
const VIEWER: Visitor = { ...OWNER, id: 'viewer', name: 'viewer', level: 'viewer' };

/** Books an appointment of a patient with an own number. */
function visit(world: ReminderWorld, index: number, inHours: number, own: Parameters<typeof book>[3] = {}): void {
  const id = `r${index}`;
  const { patientList } = world.clinic;
  if (!patientList.some((one) => one.id === id))
    patientList.push(patientOf(id, { mobilePhone: `+39 333 76543${10 + index}` }));
  book(world, `apt-${index}`, inHours, { patientId: id, ...own });
}

/** Reminds twelve patients of the 17th at 10:00; then the clinic moves `count` appointments to 09:00. */
async function moved(count: number, file: object = {}): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect(), { file });
  for (let index = 0; index < 12; index += 1) visit(world, index, 48);
  await world.cycle();
  await world.advance(24 * HOUR_MS + MINUTE_MS);
  for (let index = 0; index < count; index += 1) visit(world, index, 47);
  await world.cycle();
  return world;
}

async function pagesOf(world: ReminderWorld, visitor: Visitor = OWNER) {
  return openPages({ installation: openInstallation({ tenants: [world.tenant] }), visitor });
}

test('the page of a clinic lists a misinformed patient, with a button to the appointment', async () => {
  const rules = { 'day-before': { before: 'P1D', channels: ['text'], corrections: { moved: false } } };
  const { see } = await pagesOf(await moved(1, { rules }));
  const page = await see(CLINIC);
  expect(page).toContain('patient-misinformed');
  expect(page).toContain('corrections-off');
  expect(page).toMatch(/<a class="button[^"]*" href="\/tenants\/studio-rossi\/explain\?id=apt-0">/);
});

test('the hold of many corrections shows old and new values, and sends all with one decision', async () => {
  const world = await moved(12);
  const { see, post } = await pagesOf(world);
  const [hold] = await world.tenant.holds.list();
  const page = `${CLINIC}/holds/${hold?.id}`;
  expect(await see(CLINIC)).toMatch(/corrections-held.*<a class="button[^"]*" href="\/tenants\/studio-rossi\/holds">/s);
  expect(await see(CLINIC), 'one line for all').not.toContain('patient-misinformed');
  expect(await see(`${CLINIC}/holds`)).toContain(page);
  const shown = await see(page);
  expect(shown).toContain('Are these changes correct?');
  expect(shown).toContain('Patients had received reminders for 12 future appointments');
  expect(shown).toContain('More than 10 changes, and more than 20 %');
  expect(shown).toMatch(/time<\/span> <time[^>]*>[^<]*10:00[^<]*<\/time> → <time[^>]*>[^<]*09:00[^<]*<\/time>/);
  expect(shown).not.toContain('Anna');
  const seen = /name="seen" value="([^"]+)"/.exec(shown)?.[1] ?? '';
  const asked = await post(page, { step: 'show', choice: 'all', seen });
  expect(asked.body).toContain('The next run sends a correction to the patients of 12 appointments');
  expect((await post(page, { step: 'decide', choice: 'all', seen })).statusCode).toBe(303);
  await world.cycle();
  await world.advance(MINUTE_MS);
  expect(world.gateway.delivered).toHaveLength(24);
  expect(await see(CLINIC)).not.toContain('patient-misinformed');
});

test('a time that is far from the one in the message is shown too', async () => {
  const world = await moved(12);
  for (let index = 0; index < 12; index += 1) visit(world, index, 48 + 9 * 24);
  await world.cycle();
  const { see } = await pagesOf(world);
  const shown = await see(`${CLINIC}/holds/${(await world.tenant.holds.list())[0]?.id}`);
  expect(
    shown.match(/time<\/span> <time[^>]*>[^<]*10:00[^<]*<\/time> → <time[^>]*>[^<]*26[^<]*<\/time>/g),
  ).toHaveLength(12);
});

test('a hold whose appointments have another time by now is shown again, not approved', async () => {
  const world = await moved(12);
  const { see, post } = await pagesOf(world);
  const page = `${CLINIC}/holds/${(await world.tenant.holds.list())[0]?.id}`;
  const seen = /name="seen" value="([^"]+)"/.exec(await see(page))?.[1] ?? '';
  for (let index = 0; index < 12; index += 1) visit(world, index, 46);
  await world.cycle();
  const answer = await post(page, { step: 'decide', choice: 'all', seen });
  expect([answer.statusCode, answer.body.includes('08:00')]).toEqual([409, true]);
  await world.cycle();
  await world.advance(MINUTE_MS);
  expect(world.gateway.delivered).toHaveLength(12);
});

test('another location is shown, and an appointment that takes place despite its cancellation', async () => {
  const texts = { it: { text: '{date} {time} {address}' } };
  const rules = { 'day-before': { before: 'P1D', channels: ['text'], texts } };
  const world = createReminderWorld(redis.connect(), { file: { rules } });
  world.clinic.locationList.push({ id: 'l1', name: 'Uno', address: 'Via Milano 1', zone: null });
  world.clinic.locationList.push({ id: 'l2', name: 'Due', address: 'Via Roma 2', zone: null });
  const change = async (own: object) => {
    for (let index = 0; index < 12; index += 1) visit(world, index, 48, { locationId: 'l1', ...own });
    await world.cycle();
  };
  const shown = async () => {
    const { see } = await pagesOf(world);
    const [open] = (await world.tenant.holds.list()).filter(({ state }) => state === 'open');
    return see(`${CLINIC}/holds/${open?.id}`);
  };
  await change({});
  await world.advance(24 * HOUR_MS + MINUTE_MS);
  await change({ locationId: 'l2' });
  expect((await shown()).match(/place<\/span> .{0,60}→ [^<]*Via Roma 2/g)).toHaveLength(12);
  await change({ status: 'cancelled' });
  const [open] = await world.tenant.holds.list();
  await world.tenant.holds.decide(open?.id ?? '', {
    state: 'approved',
    now: world.now,
    expiresAt: world.now + 24 * HOUR_MS,
  });
  await world.cycle();
  await world.advance(11 * MINUTE_MS);
  expect(world.gateway.delivered).toHaveLength(24);
  await change({});
  expect((await shown()).match(/time<\/span> <time[^>]*>[^<]*10:00<\/time><\/li>/g)).toHaveLength(12);
});

test('a refused hold sends nothing, and its patients stay listed', async () => {
  const world = await moved(12);
  const { see, post } = await pagesOf(world);
  const page = `${CLINIC}/holds/${(await world.tenant.holds.list())[0]?.id}`;
  const seen = /name="seen" value="([^"]+)"/.exec(await see(page))?.[1] ?? '';
  const asked = await post(page, { step: 'show', choice: 'keep', seen });
  expect(asked.body).toContain('receive no message. Each appointment stays listed');
  await post(page, { step: 'decide', choice: 'keep', seen });
  await world.cycle();
  await world.advance(MINUTE_MS);
  expect(world.gateway.delivered).toHaveLength(12);
  expect(await see(CLINIC)).toContain('corrections-refused');
});

test('a viewer sees the hold, and no button that decides it', async () => {
  const world = await moved(12);
  const { see } = await pagesOf(world, VIEWER);
  const shown = await see(`${CLINIC}/holds/${(await world.tenant.holds.list())[0]?.id}`);
  expect([shown.includes('Are these changes correct?'), shown.includes('name="choice"')]).toEqual([true, false]);
});

test('replies of patients are on a page for operators, and viewers see only that there are some', async () => {
  const world = createReminderWorld(redis.connect());
  const { replies, optOuts } = world.tenant.reminders ?? {};
  const phone = '+393331234567';
  const recipient = optOuts?.hashOf('phone', phone) ?? '';
  await replies?.add({ phone, text: 'Non <posso> venire', at: world.now, message: 'SM1', recipient });
  const { see } = await pagesOf(world);
  expect(await see(CLINIC)).toMatch(
    /patients-replied.*<a class="button[^"]*" href="\/tenants\/studio-rossi\/replies">/s,
  );
  const page = await see(`${CLINIC}/replies`);
  expect(page).toContain('Non &lt;posso&gt; venire');
  expect(page).toContain(phone);
  const viewer = await pagesOf(world, { ...OWNER, level: 'viewer' });
  expect(await viewer.see(CLINIC)).toContain('patients-replied');
  expect(await viewer.see(`${CLINIC}/replies`)).not.toContain('posso');
});
