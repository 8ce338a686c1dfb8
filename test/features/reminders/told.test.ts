import { describe, expect, test } from 'vitest';
import type { Appointment } from '../../../src/core/model/records.ts';
import type { LedgerEntry } from '../../../src/core/model/reminders.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { createMessageProofs } from '../../../src/features/reminders/identity.ts';
import { comparableAddress } from '../../../src/features/reminders/places.ts';
import { correctionOf, messageTruthOf, type Truth } from '../../../src/features/reminders/told.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';

const proofs = createMessageProofs(Buffer.alloc(32, 7), 'studio-rossi');
const ADDRESS = 'Via Milano 1';
const START = NOW + DAY_MS;

/** Returns a message that was sent for the current visit. */
function messageOf(id: string, changes: Partial<LedgerEntry> = {}): LedgerEntry {
  return {
    ...{ id, appointmentId: 'one', startAt: START, rule: 'day-before', channel: 'text', zone: 'Europe/Rome' },
    ...{ correction: null, state: 'sent', plannedAt: NOW, wakeAt: NOW, dueAt: NOW, attempts: 1, finishedAt: NOW },
    ...{
      reason: null,
      lastCode: null,
      reference: id,
      answer: null,
      movedTo: null,
      recipient: null,
      handedAs: Number(id),
    },
    patientProof: proofs.patient(id, 'p1'),
    locationProof: proofs.locationProof('one', comparableAddress(ADDRESS)),
    ...changes,
  };
}

function truthOf(changes: Partial<Appointment> & { inHours?: number } = {}, own: Partial<Truth> = {}): Truth {
  return { appointment: appointmentOf('one', changes), zone: 'Europe/Rome', address: ADDRESS, ...own };
}

const judge = (messages: readonly LedgerEntry[], truth: Truth | null, failed: readonly string[] = []) =>
  messageTruthOf(messages, truth, { proofs, failed: ({ id }) => failed.includes(id) });

describe('what a patient was sent', () => {
  test('is nothing before the first message was sent, and is not judged during sending', () => {
    expect(judge([], truthOf())).toEqual({ is: 'untold' });
    expect(judge([messageOf('1', { state: 'dropped' })], truthOf())).toEqual({ is: 'untold' });
    expect(judge([messageOf('1'), messageOf('2', { state: 'sending' })], truthOf())).toEqual({ is: 'sending' });
  });

  test.each<[string, Truth]>([
    ['unchanged', truthOf()],
    ['with the address in another spelling', truthOf({}, { address: 'via  milano, 1' })],
    ['and has begun, at any time', truthOf({ status: 'arrived', inHours: 30 })],
  ])('is true of an appointment %s', (_, truth) => {
    expect(judge([messageOf('1')], truth)).toEqual({ is: 'true' });
  });

  test.each<[string, Truth | null, string]>([
    ['begins at another time', truthOf({ inHours: 30 }), 'moved'],
    ['is cancelled', truthOf({ status: 'cancelled' }), 'cancelled'],
    ['is gone', null, 'cancelled'],
    ['is at another address', truthOf({}, { address: 'Via Torino 2' }), 'changed'],
    ['is in a zone where the clock differs', truthOf({}, { zone: 'Europe/London' }), 'changed'],
    ['is another patient’s', truthOf({ patientId: 'p2' }), 'changed'],
  ])('is false of an appointment that %s', (_, truth, kind) => {
    expect(judge([messageOf('1')], truth)).toMatchObject({ is: 'false', kind, isUnclear: false, last: { id: '1' } });
  });

  test('is true after a change of location if the message named none', () => {
    const message = messageOf('1', { locationProof: null });
    expect(judge([message], truthOf({}, { address: 'Via Torino 2' }))).toEqual({ is: 'true' });
  });

  test('is true of a cancelled appointment after its correction, or when the patient cancelled it', () => {
    const cancelled = truthOf({ status: 'cancelled' });
    const correction = messageOf('2', { correction: { kind: 'cancelled', fact: 'f' } });
    expect(judge([messageOf('1'), correction], cancelled)).toEqual({ is: 'true' });
    expect(judge([messageOf('1', { answer: { is: 'cancelled', at: NOW } })], cancelled)).toEqual({ is: 'true' });
    expect(judge([messageOf('1', { answer: { is: 'confirmed', at: NOW } })], cancelled).is).toBe('false');
    expect(judge([messageOf('1'), correction], truthOf())).toMatchObject({ is: 'false', kind: 'moved' });
  });

  test('is true of a cancelled appointment only when each time that the patient may expect was cancelled', () => {
    const cancelled = truthOf({ status: 'cancelled' });
    const at = (id: string, hours: number, changes: Partial<LedgerEntry> = {}) =>
      messageOf(id, { startAt: START + hours * HOUR_MS, ...changes });
    const ofLost = at('3', -1, { correction: { kind: 'cancelled', fact: 'f' } });
    const lost = [at('1', 0), at('2', -1, { state: 'unknown', correction: { kind: 'moved', fact: 'm' } }), ofLost];
    const remaining = { is: 'false', kind: 'cancelled', isUnclear: false, last: { id: '1' } };
    expect(judge(lost, cancelled)).toMatchObject(remaining);
    expect(judge(lost, null)).toMatchObject(remaining);
    expect(judge([at('1', 0), at('2', -1), ofLost], cancelled)).toEqual({ is: 'true' });
    const also = (state: 'sent' | 'unknown') => at('4', 0, { state, correction: { kind: 'cancelled', fact: 'g' } });
    expect(judge([...lost, also('sent')], cancelled)).toEqual({ is: 'true' });
    expect(judge([...lost, also('unknown')], cancelled)).toMatchObject({ is: 'false', isUnclear: true });
    expect(judge([at('1', 0), at('2', -1), ofLost], cancelled, ['2'])).toMatchObject(remaining);
  });

  test('is false after a move under another id until a correction: a reminder does not tell that its visit replaces the other', () => {
    const before = messageOf('1', { startAt: START + HOUR_MS, movedTo: 'one' });
    const reminder = messageOf('2');
    expect(judge([before, reminder], truthOf())).toMatchObject({ is: 'false', isReplaced: true, last: { id: '1' } });
    expect(judge([{ ...before, movedTo: null }, reminder], truthOf())).toEqual({ is: 'true' });
    const correction = messageOf('3', { correction: { kind: 'moved', fact: 'f' } });
    expect(judge([before, reminder, correction], truthOf())).toEqual({ is: 'true' });
    expect(judge([before, { ...correction, startAt: START - HOUR_MS, state: 'unknown' }], truthOf())).toMatchObject({
      ...{ is: 'false', kind: 'moved', isReplaced: true, isUnclear: false },
    });
  });

  test('is the last message that surely came, and each after it of which that is not known', () => {
    const wrong = (id: string, changes: Partial<LedgerEntry> = {}) =>
      messageOf(id, { startAt: START - HOUR_MS, ...changes });
    expect(judge([wrong('1'), messageOf('2')], truthOf())).toEqual({ is: 'true' });
    const unclear = [wrong('1'), messageOf('2', { state: 'unknown' })];
    expect(judge(unclear, truthOf())).toMatchObject({ is: 'false', isUnclear: true, last: { id: '2' } });
    expect(judge([wrong('1'), messageOf('2')], truthOf(), ['2'])).toMatchObject({ is: 'false', isUnclear: true });
    expect(judge([messageOf('2'), wrong('1')], truthOf())).toEqual({ is: 'true' });
  });
});

test('one message has one correction for each truth', () => {
  const last = messageOf('1');
  const fact = (kind: 'moved' | 'changed', truth: Truth) => correctionOf({ kind, last }, truth, proofs).fact;
  expect(fact('changed', truthOf({}, { address: 'Via Torino 2' }))).toBe(
    fact('changed', truthOf({}, { address: 'via torino, 2' })),
  );
  const others = [fact('moved', truthOf()), fact('changed', truthOf()), fact('changed', truthOf({}, { address: 'X' }))];
  expect(new Set(others).size).toBe(3);
});
