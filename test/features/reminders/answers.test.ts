import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/log/create-logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { AppointmentStatus } from '../../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { createAnswerStore } from '../../../src/features/reminders/answer-store.ts';
import type { AnswerServices } from '../../../src/features/reminders/answers.ts';
import { createAddressSecrets } from '../../../src/features/reminders/identity.ts';
import { explainReminders } from '../../../src/features/reminders/reminders.ts';
import { renderReminderExplanation } from '../../../src/operator/cli/render-reminders.ts';
import { createPublicServer } from '../../../src/operator/http-server/public-server.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { crashingRedis } from '../../tenant/crashing-redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import {
  ANSWER_FILE,
  type AnswerBed,
  answersOver,
  book,
  deskOf,
  ID,
  KEY,
  openAnswerBed,
  press,
} from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });
const reminded = (file?: object) => openAnswerBed(redis.connect(), file);

const statusOf = ({ world }: AnswerBed) => world.clinic.appointments.get('one')?.status;

function change({ world }: AnswerBed, own: { status?: AppointmentStatus; inHours?: number; patientId?: string }) {
  const { inHours = 48, ...rest } = own;
  book(world, 'one', inHours, rest);
}

describe('a link in a reminder', () => {
  test('contains no information, and is stored nowhere in Redis', async () => {
    const { token, connection, world } = await reminded();
    expect(token).toMatch(/^[\w-]{22}$/);
    const names = await connection.keys('*');
    const values = await Promise.all(names.map((name) => connection.dump(name)));
    expect(`${names.join('\n')}${values.join('\n')}`).not.toContain(token);
    expect((await world.entries()).map(({ id }) => id).join()).not.toContain(token);
  });

  test('is the same at each try of a reminder, another for each reminder and installation', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        const { token, proof } = createAddressSecrets(KEY, ID);
        expect(token(one)).toBe(createAddressSecrets(KEY, ID).token(one));
        expect(token(one) === token(other)).toBe(one === other);
        expect(token(one)).not.toBe(createAddressSecrets(KEY, 'other').token(one));
        expect(token(one)).not.toBe(createAddressSecrets(Buffer.alloc(32, 8), ID).token(one));
        expect(token(one)).not.toBe(proof(one, 0));
      }),
    );
  });

  test('changes nothing and sends the clinic no request when it is opened, however often', async () => {
    const bed = await reminded();
    const before = { ...bed.world.clinic.counts };
    for (let at = 0; at < 5; at++) {
      const page = await bed.desk.show(bed.token);
      expect(page).toMatchObject({ says: 'ask', form: { answers: ['confirmed', 'cancelled'] } });
    }
    expect(bed.world.clinic.counts).toEqual(before);
    expect(statusOf(bed)).toBe('booked');
  });

  test.each(['confirmed', 'cancelled'] as const)(
    '%s: the clinic has it, and a pull follows at once',
    async (answer) => {
      const bed = await reminded();
      expect(await press(bed, answer)).toMatchObject({ says: answer, form: null });
      expect(statusOf(bed)).toBe(answer);
      expect(bed.pulled).toEqual([ID]);
      const explained = await explainReminders(openInstallation({ tenants: [bed.world.tenant] }), ID, 'one', NEVER);
      const { reminders } = explained;
      expect(reminders[0]?.answer).toEqual({ is: answer, at: bed.world.now });
      expect(renderReminderExplanation(explained)).toContain(`by the patient: ${answer}`);
    },
  );

  test('is valid once: a later answer is shown the first one', async () => {
    const bed = await reminded();
    const { form } = await bed.desk.show(bed.token);
    await press(bed, 'confirmed');
    for (const answer of ['confirmed', 'cancelled']) {
      expect(await bed.desk.take(bed.token, { answer, proof: form?.proof ?? '' })).toMatchObject({
        says: 'was-confirmed',
        form: null,
      });
    }
    expect((await bed.desk.show(bed.token)).says).toBe('was-confirmed');
    expect(bed.world.clinic.counts.writes).toBe(1);
  });

  test('of two presses at once one is carried out', async () => {
    const bed = await reminded();
    const { form } = await bed.desk.show(bed.token);
    const given = ['confirmed', 'cancelled', 'confirmed', 'cancelled'];
    const pages = await Promise.all(
      given.map((answer) => bed.desk.take(bed.token, { answer, proof: form?.proof ?? '' })),
    );
    expect(bed.world.clinic.counts.writes).toBe(1);
    expect(pages.filter(({ says }) => says === statusOf(bed))).toHaveLength(1);
  });
});

describe('an answer changes nothing', () => {
  test.each([
    ['moved', { inHours: 50 }, 'moved'],
    ['cancelled already', { status: 'cancelled' }, 'was-cancelled'],
    ['another patient’s by now', { patientId: 'p2' }, 'gone'],
    ['under way', { status: 'arrived' }, 'over'],
    ['over', { status: 'completed' }, 'over'],
  ] as const)('to an appointment that is %s', async (_, own, says) => {
    const bed = await reminded();
    change(bed, own);
    for (const answer of ['confirmed', 'cancelled']) expect((await press(bed, answer)).says).toBe(says);
    expect(bed.world.clinic.counts.writes).toBe(0);
  });

  test('when it is confirmed already, and may still be cancelled', async () => {
    const bed = await reminded();
    change(bed, { status: 'confirmed' });
    expect((await press(bed, 'confirmed')).says).toBe('was-confirmed');
    expect(bed.world.clinic.counts.writes).toBe(0);
    expect((await press(bed, 'cancelled')).says).toBe('cancelled');
  });

  test('when the appointment is gone, or its row can not be used', async () => {
    const bed = await reminded();
    bed.world.clinic.unusable.add('one');
    expect((await press(bed, 'confirmed')).says).toBe('refused');
    bed.world.clinic.appointments.delete('one');
    expect((await press(bed, 'confirmed')).says).toBe('gone');
    expect(bed.world.clinic.counts.writes).toBe(0);
  });

  test('after the appointment began', async () => {
    const bed = await reminded();
    const { form } = await bed.desk.show(bed.token);
    await bed.world.advance(DAY_MS);
    expect((await bed.desk.show(bed.token)).says).toBe('expired');
    expect((await bed.desk.take(bed.token, { answer: 'confirmed', proof: form?.proof ?? '' })).says).toBe('expired');
    expect(bed.world.clinic.counts.writes).toBe(0);
  });

  test('when it is a cancellation too near to the start, which may still be confirmed', async () => {
    const bed = await reminded();
    const { form } = await bed.desk.show(bed.token);
    bed.world.now += 12 * HOUR_MS + 1;
    expect((await bed.desk.show(bed.token)).form?.answers).toEqual(['confirmed']);
    expect((await press(bed, 'cancelled')).says).toBe('too-late');
    // A page from before the limit is too old by then.
    expect((await bed.desk.take(bed.token, { answer: 'cancelled', proof: form?.proof ?? '' })).says).toBe('ask-again');
    expect((await press(bed, 'confirmed')).says).toBe('confirmed');
  });

  test('when the clinic offers no cancelling', async () => {
    const bed = await reminded({ ...ANSWER_FILE, links: {} });
    expect((await bed.desk.show(bed.token)).form?.answers).toEqual(['confirmed']);
    expect((await press(bed, 'cancelled')).says).toBe('not-offered');
    expect(bed.world.clinic.counts.writes).toBe(0);
  });

  test.each([
    ['none', () => ''],
    ['a forged one', () => `1.${'A'.repeat(22)}`],
    ['one of another reminder', (now: number) => `${now}.${createAddressSecrets(KEY, ID).proof('other', now)}`],
    ['one for another time', (now: number, proof: string) => proof.replace(/^\d+/, String(now - 1))],
    [
      'one of the future',
      (now: number, _: string, id: string) => `${now + 1}.${createAddressSecrets(KEY, ID).proof(id, now + 1)}`,
    ],
  ] as const)('without the proof that our page was shown: %s', async (_, forge) => {
    const bed = await reminded();
    const { form } = await bed.desk.show(bed.token);
    const id = (await bed.world.entries())[0]?.id ?? '';
    const proof = forge(bed.world.now, form?.proof ?? '', id);
    expect(await bed.desk.take(bed.token, { answer: 'cancelled', proof })).toMatchObject({ says: 'ask-again' });
    expect(bed.world.clinic.counts.writes).toBe(0);
  });

  test('that is none of those that were offered', async () => {
    const bed = await reminded();
    for (const answer of ['', 'no_show', '__proto__', 'constructor']) {
      expect((await press(bed, answer)).says).toBe('ask-again');
    }
    expect(bed.world.clinic.counts.writes).toBe(0);
  });

  test('by a link that is unknown or was changed', async () => {
    const bed = await reminded();
    const changed = [...bed.token].map(
      (_, at) => `${bed.token.slice(0, at)}${bed.token[at] === 'A' ? 'B' : 'A'}${bed.token.slice(at + 1)}`,
    );
    for (const token of [...changed, '', `${bed.token}A`, '../../reminders', '%00']) {
      expect(await bed.desk.show(token)).toEqual({ says: 'unknown', about: null, form: null });
    }
  });

  test('while the tenant is paused or has no reminders any more', async () => {
    const bed = await reminded();
    const { tenant } = bed.world;
    const paused = { ...tenant, configuration: { ...tenant.configuration, paused: true } };
    const desk = deskOf({ ...openInstallation({ tenants: [paused] }), clock: () => bed.world.now }, bed.connection);
    expect((await press({ ...bed, desk }, 'confirmed')).says).toBe('away');
    const bare = deskOf(openInstallation({ tenants: [{ ...tenant, reminders: null }] }), bed.connection);
    expect((await bare.show(bed.token)).says).toBe('unknown');
    expect(bed.world.clinic.counts.writes).toBe(0);
  });
});

describe('a clinic that does not take the answer', () => {
  const error = (code: string, actor: 'remote' | 'settings' | 'conflict' | 'authorization') =>
    new MirrorError('no', { actor, code, retry: 'later' });

  test.each([
    [error('unavailable', 'remote'), 'away'],
    [error('status-unmapped', 'settings'), 'refused'],
    [error('conflict', 'conflict'), 'refused'],
    [error('login-ended', 'authorization'), 'refused'],
    [error('record-gone', 'conflict'), 'gone'],
  ] as const)('%s: the link stays good', async (failure, says) => {
    const bed = await reminded();
    bed.world.clinic.writeError = failure;
    expect((await press(bed, 'confirmed')).says).toBe(says);
    expect(bed.pulled).toEqual([]);
    bed.world.clinic.writeError = null;
    expect((await press(bed, 'confirmed')).says).toBe('confirmed');
  });

  test('is away when the appointment is read: the link stays good', async () => {
    const bed = await reminded();
    bed.world.clinic.lookupsFail = true;
    expect((await press(bed, 'cancelled')).says).toBe('away');
    bed.world.clinic.lookupsFail = false;
    expect((await press(bed, 'cancelled')).says).toBe('cancelled');
  });

  test('that applied the answer but lost its response is queried again', async () => {
    const bed = await reminded();
    bed.world.clinic.writeAnswerIsLost = true;
    expect((await press(bed, 'cancelled')).says).toBe('cancelled');
    expect((await bed.desk.show(bed.token)).says).toBe('was-cancelled');
    expect(bed.world.clinic.counts.writes).toBe(1);
  });

  test('died with the worker: another request takes over when the claim is over', async () => {
    const bed = await reminded();
    const id = (await bed.world.entries())[0]?.id ?? '';
    const store = createAnswerStore(bed.connection, ID, (caller) => caller);
    const claim = (await store.begin(id)) ?? '';
    expect((await press(bed, 'confirmed')).says).toBe('busy');
    await bed.connection.del(`cm:{${ID}}:answer-claim:${id}`);
    expect((await press(bed, 'confirmed')).says).toBe('confirmed');
    // The first request wakes up late: the stored answer remains.
    await store.end(id, claim, { answer: 'cancelled', at: 1 });
    expect((await bed.desk.show(bed.token)).says).toBe('was-confirmed');
  });
});

test('a process that dies at any moment of an answer leaves the clinic with that answer or none, and the link good', async () => {
  for (let left = 0; left < 9; left++) {
    for (const isCarriedOut of [false, true]) {
      await redis.connect().flushdb();
      const bed = await reminded();
      const { form } = await bed.desk.show(bed.token);
      const given = { answer: 'cancelled', proof: form?.proof ?? '' };
      const dying = crashingRedis(bed.connection, left, isCarriedOut);
      const installation = { ...openInstallation({ tenants: [dyingTenant(bed, dying)] }), clock: () => bed.world.now };
      await deskOf(installation, dying)
        .take(bed.token, given)
        .catch(() => {});
      expect(['booked', 'cancelled']).toContain(statusOf(bed));
      const claims = await bed.connection.keys('*:answer-claim:*');
      if (claims.length > 0) await bed.connection.del(claims);
      expect(['cancelled', 'was-cancelled']).toContain((await bed.desk.take(bed.token, given)).says);
      expect(statusOf(bed)).toBe('cancelled');
      expect(bed.world.clinic.counts.writes).toBe(1);
    }
  }
});

function dyingTenant({ world }: AnswerBed, dying: RedisClient) {
  const tenant = world.open(dying);
  if (tenant.reminders === null) throw new Error('no reminders');
  return { ...tenant, reminders: { ...tenant.reminders, answers: answersOver(dying) } };
}

test('who opens a link too often waits a minute, and others are not hindered', async () => {
  const bed = await reminded();
  const said = [];
  for (let at = 0; at < 25; at++) said.push((await bed.desk.show(bed.token)).says);
  expect(said.slice(0, 20)).toEqual(Array(20).fill('ask'));
  expect(said.slice(20)).toEqual(Array(5).fill('limited'));
  expect(await bed.world.tenant.reminders?.answers?.store.admit('another', 'another', bed.world.now)).toBe(true);
  bed.world.now += MINUTE_MS;
  expect((await bed.desk.show(bed.token)).says).toBe('ask');
});

describe('the page', () => {
  async function open(bed: AnswerBed, desk: AnswerServices = bed.desk) {
    const lines: string[] = [];
    const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
    const verbs = {
      describeLogin: async () => null,
      beginLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      completeLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      takeNotification: async () => null,
      takeReminderCallback: async () => 404,
      showFeed: async () => ({ status: 404 as const }),
      showAnswer: desk.show,
      takeAnswer: desk.take,
    };
    const app = await createPublicServer(verbs, { publicUrl: () => 'https://mirror.test', log });
    onTestFinished(() => app.close());
    const form = (payload: string, headers = {}) =>
      app.inject({
        method: 'POST',
        url: `/r/${bed.token}`,
        payload,
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
      });
    return { app, lines, form };
  }

  test('shows clinic, day, time and buttons without scripts, and forbids framing, caching and indexing', async () => {
    const bed = await reminded();
    const { app } = await open(bed);
    const answer = await app.inject({
      url: `/r/${bed.token}`,
      headers: { 'accept-language': 'de, it;q=0.8, en;q=0.5' },
    });
    expect(answer.statusCode).toBe(200);
    expect(answer.headers).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
    const policy = String(answer.headers['content-security-policy']);
    expect(policy).toMatch(
      /^default-src 'none';style-src 'sha256-[^']+';base-uri 'none';form-action 'self';frame-ancestors 'none'$/,
    );
    expect(answer.body).toContain('<html lang="it">');
    expect(answer.body).toContain('Studio &lt;Rossi&gt;');
    expect(answer.body).toContain('mercoledì 17 giugno, ore 10:00');
    expect(answer.body).toContain('06 1234567');
    expect(answer.body.match(/<button/g)).toHaveLength(2);
    expect(answer.body).not.toMatch(/<script|http|Anna|Verdi|p1/);
  });

  test('takes a button, and its log names neither the link nor the patient', async () => {
    const bed = await reminded();
    const { app, form, lines } = await open(bed);
    const { body } = await app.inject(`/r/${bed.token}`);
    const proof = /name="proof" value="([^"]+)"/.exec(body)?.[1] ?? '';
    const answer = await form(new URLSearchParams({ proof, answer: 'confirmed' }).toString());
    expect([answer.statusCode, statusOf(bed)]).toEqual([200, 'confirmed']);
    expect(answer.body).toContain('Your appointment is confirmed.');
    expect(lines.join('')).toContain('/r/:token');
    expect(lines.join('')).not.toMatch(new RegExp(`${bed.token}|${proof}|Anna|Verdi`));
  });

  test.each([
    ['PUT', 404],
    ['DELETE', 404],
    ['HEAD', 404],
  ] as const)('%s is nothing that it knows', async (method, status) => {
    const bed = await reminded();
    const { app } = await open(bed);
    expect((await app.inject({ method, url: `/r/${bed.token}` })).statusCode).toBe(status);
    expect(statusOf(bed)).toBe('booked');
  });

  test('refuses what is no form, and a form without end', async () => {
    const bed = await reminded();
    const { form } = await open(bed);
    expect((await form('{"answer":"cancelled"}', { 'content-type': 'application/json' })).statusCode).toBe(404);
    expect((await form(`answer=cancelled&proof=${'x'.repeat(5_000)}`)).statusCode).toBe(404);
    expect((await form('')).statusCode).toBe(400);
    expect(statusOf(bed)).toBe('booked');
  });

  test('is kind when the state cannot be read', async () => {
    const bed = await reminded();
    const broken = () => Promise.reject(new Error('canary'));
    const { app, form } = await open(bed, { show: broken, take: broken });
    const answers = [await app.inject(`/r/${bed.token}`), await form('answer=confirmed')];
    for (const { statusCode, headers, body } of answers) {
      expect([statusCode, headers['retry-after']]).toEqual([503, '120']);
      expect(body).toContain('Please try again');
      expect(body).not.toContain('canary');
    }
  });

  test.each([
    ['unknown', 404, (bed: AnswerBed): unknown => Object.assign(bed, { token: 'A'.repeat(22) })],
    ['answered', 200, (bed: AnswerBed): unknown => press(bed, 'confirmed')],
    ['of an appointment that has begun', 410, (bed: AnswerBed): unknown => bed.world.advance(2 * DAY_MS)],
  ] as const)('of a link that is %s has the status %i and no button', async (_, status, make) => {
    const bed = await reminded();
    await make(bed);
    const { app } = await open(bed);
    const answer = await app.inject(`/r/${bed.token}`);
    expect(answer.statusCode).toBe(status);
    expect(answer.body).not.toContain('<button');
  });
});
