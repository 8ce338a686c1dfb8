import { expect, test } from 'vitest';
import { operationFor, wholeOf } from '../../src/jobs/operation-for.ts';
import type { CrmItem } from '../../src/model/items.ts';
import type { Link } from '../../src/model/operations.ts';
import { crmSchema } from '../../src/settings/crm-schema.ts';
import type { OutboxEntry } from '../../src/state/outbox-format.ts';
import { NOW } from '../sync/arbitraries.ts';
import { createModelTarget } from './model-target.ts';
import { openTarget } from './open-tenant.ts';

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
  const tries = { attempts: 0, lastError: null, sent: false, sentAt: null, parked: false, revision: 2, epoch: 0 };
  const times = { startAt: 0, endAt: 0, enqueuedAt: NOW, dueAt: NOW };
  return { recordId: '1', reason: 'new', want: 'present', fingerprint, item, ...tries, ...times } as OutboxEntry;
}

function linkOf(item: CrmItem, drift: Link['drift'] = null): Link {
  const object = { versionTag: null, startAt: 0, endAt: 0, epoch: 0, remoteId: 'r1', drift };
  return { recordId: '1', fingerprint: target.identity.fingerprint(item), ...object };
}

/** The properties that are sent. */
function sent(item: CrmItem, link: Link | null): CrmItem['properties'] | null {
  const operation = operationFor(entryOf(item), link, target);
  return operation !== null && 'item' in operation ? (operation.item as unknown as CrmItem).properties : null;
}

test('a denial of a refusal goes out only where it takes back what was written', () => {
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

test('what a target was not told counts as it was wanted', () => {
  const stored = { ...itemOf('ROSSI', null), properties: { name: 'ROSSI' } };
  expect(wholeOf(stored, itemOf('Rossi', false))).toEqual(itemOf('ROSSI', false));
  expect(wholeOf(itemOf('Rossi', true), itemOf('Rossi', false))).toEqual(itemOf('Rossi', true));
  expect(wholeOf(stored, null)).toEqual(stored);
});
