import { expect, test } from 'vitest';
import type { CrmItem } from '../../src/core/model/items.ts';
import type { Link } from '../../src/core/model/operations.ts';
import { wholeOf } from '../../src/domain/target-traits.ts';
import { operationFor } from '../../src/engine/outbox-operations.ts';
import type { OutboxEntry } from '../../src/engine/store.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import { itemWith, type UpdateOperation } from '../contract/contract-kit.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTarget } from '../tenant/open-tenant.ts';
import { NOW } from './arbitraries.ts';

const MAPPING = { name: 'lastName', optedOut: { from: 'consents.marketing', values: { true: false, false: true } } };

const target = openTarget('studio-rossi', {
  id: 'contacts',
  model: createModelTarget(),
  configuration: { crm: crmSchema.parse({ mapping: MAPPING }) },
});
target.crm!.refusals = [{ property: 'optedOut', by: null }];

function itemOf(name: string, optedOut: boolean | null): CrmItem {
  return { properties: { name, optedOut }, contactKey: null, startAt: 0 };
}

function entryOf(item: CrmItem): OutboxEntry {
  const fingerprint = target.identity.fingerprint(item);
  const tries = { attempts: 0, lastError: null, sent: false, sentAt: null, parked: false, revision: 2, idAttempt: 0 };
  const times = { startAt: 0, endAt: 0, enqueuedAt: NOW, dueAt: NOW };
  return { recordId: '1', reason: 'new', want: 'present', fingerprint, item, ...tries, ...times } as OutboxEntry;
}

function linkOf(item: CrmItem, drift: Link['drift'] = null): Link {
  const object = { versionTag: null, startAt: 0, endAt: 0, idAttempt: 0, remoteId: 'r1', drift };
  return { recordId: '1', fingerprint: target.identity.fingerprint(item), ...object };
}

/** The properties that are sent. */
function sent(item: CrmItem, link: Link | null): CrmItem['properties'] | null {
  const operation = operationFor(entryOf(item), link, target);
  return operation !== null && 'item' in operation ? (operation.item as unknown as CrmItem).properties : null;
}

test('the denial of a refusal is sent only if it revokes a written refusal', () => {
  const denied = itemOf('Rossi', false);
  expect(sent(denied, null)).toEqual({ name: 'Rossi' });
  expect(sent(denied, linkOf(itemOf('Before', false)))).toEqual({ name: 'Rossi' });
  expect(sent(denied, linkOf(denied, 'edited'))).toEqual({ name: 'Rossi' });
  expect(sent(denied, linkOf(itemOf('Rossi', true)))).toEqual({ name: 'Rossi', optedOut: false });
  expect(sent(itemOf('Rossi', null), linkOf(itemOf('Rossi', true)))).toEqual({ name: 'Rossi', optedOut: null });
});

test('a refusal goes out whatever was written', () => {
  const refused = itemOf('Rossi', true);
  for (const link of [null, linkOf(itemOf('Rossi', false)), linkOf(refused, 'edited')]) {
    expect(sent(refused, link)).toEqual({ name: 'Rossi', optedOut: true });
  }
});

test('a value that was never sent to the target is treated as equal to the planned value', () => {
  const stored = { ...itemOf('ROSSI', null), properties: { name: 'ROSSI' } };
  expect(wholeOf(stored, itemOf('Rossi', false))).toEqual(itemOf('ROSSI', false));
  expect(wholeOf(itemOf('Rossi', true), itemOf('Rossi', false))).toEqual(itemOf('Rossi', true));
  expect(wholeOf(stored, null)).toEqual(stored);
});

test('an update of an event knows the description of the last write, unless the link was rebuilt from the event', () => {
  const doctor = openTarget('studio-rossi', { model: createModelTarget() });
  const before = itemWith({ description: 'Dr. Verdi\nStatus: booked' });
  const wanted = itemWith({ title: 'New', description: 'Dr. Verdi' });
  const link = { ...linkOf(itemOf('', null)), fingerprint: doctor.identity.fingerprint(before) };
  const entry = { ...entryOf(itemOf('', null)), item: wanted, fingerprint: doctor.identity.fingerprint(wanted) };
  const operation = operationFor(entry, link, doctor);
  const texts = ['Dr. Verdi', before.description!, `${before.description}\nRing`];
  expect(operation).toMatchObject({ kind: 'update', hadDescription: expect.any(Function) });
  expect(texts.map((text) => (operation as UpdateOperation).hadDescription?.(text))).toEqual([false, true, false]);
  for (const unknown of [{ isRebuilt: true } as const, { fingerprint: '' }]) {
    const other = operationFor(entry, { ...link, ...unknown }, doctor) as UpdateOperation;
    expect(texts.filter((text) => other.hadDescription?.(text))).toEqual([]);
  }
});

test('activities wait for contacts, calendars for nothing, and each names the error of its own kind', () => {
  const calendar = openTarget('studio-rossi', { model: createModelTarget() });
  const visits = openTarget('studio-rossi', {
    id: 'visits',
    model: createModelTarget(),
    configuration: {
      crm: crmSchema.parse({ stream: 'appointments', contacts: 'contacts', mapping: { title: { value: 'Visit' } } }),
    },
  });
  expect([calendar.dependsOn, target.dependsOn]).toEqual([null, null]);
  expect(visits.dependsOn).toMatchObject({ target: 'contacts', missing: 'contact-missing' });
  expect(visits.dependsOn?.keyOf({ ...itemOf('Rossi', null), contactKey: 'k' })).toBe('k');
  expect([calendar, target, visits].map(({ hasDependents }) => hasDependents)).toEqual([false, true, false]);
  expect([calendar, target].map((one) => one.firstWriteMissing('t').code)).toEqual(['events-not-kept', 'key-not-kept']);
});
