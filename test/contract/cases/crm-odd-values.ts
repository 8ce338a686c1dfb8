import { expect } from 'vitest';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import type { CrmItem, MappedProperty, PropertyValue } from '../../../src/core/model/items.ts';
import type { Operation, Outcome } from '../../../src/core/model/operations.ts';
import { containerOf } from '../../support/container-of.ts';
import { type ContractCase, group } from '../contract-case.ts';
import { describeOutcome, failure, keyOf, signal, updateOperation, written } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';
import { type CrmValues, mappedProperties } from '../crm-target.ts';

const SENTENCE = 'call the daughter’s husband at the bakery, after five, but never on Mondays: he sleeps';
const LONG_NAME = 'Montefeltro '.repeat(9).trim().slice(0, 104);

/** Values as people type them, which a CRM may refuse: none keeps its contact out, or another one. */
export const crmOddValues = group<CrmKit>('odd values', {
  'an address with a comma instead of a dot is omitted, and the rest is written': isLeftOut({
    email: 'mario.rossi@gmail,com',
  }),
  'two addresses in one field are omitted, and the rest is written': isLeftOut({
    email: 'a1@example.org; b1@example.org',
  }),
  'a sentence where a telephone number belongs keeps no contact out': isLeftOut({ phone: SENTENCE }),
  'a last name of 104 characters is written, as far as it fits': async (kit) => {
    expect(LONG_NAME).toHaveLength(104);
    const { title } = await expectWritten(kit, kit.row({ title: LONG_NAME, number: 3 }));
    expect(title.startsWith(LONG_NAME.slice(0, 70))).toBe(true);
    expect(title === LONG_NAME || title.endsWith('…')).toBe(true);
  },
  'who has a first name only is written with it, in the property that must not be empty': async (kit) => {
    const { firstName } = kit.target;
    const { title } = await expectWritten(kit, named(kit, 'Mario', null));
    expect(title).toBe(firstName.isLastRequired ? 'Mario' : '');
    const first = (await readItem(kit))?.properties[firstName.property];
    expect(first).toBe(firstName.isLastRequired ? null : 'Mario');
  },
  'first name and last name stay in their properties': async (kit) => {
    const { title } = await expectWritten(kit, named(kit, 'Mario', 'Rossi'));
    expect(title).toBe('Rossi');
    expect((await readItem(kit))?.properties[kit.target.firstName.property]).toBe('Mario');
  },
  'a value that the CRM refuses by name is omitted, reported, and retried when it changes': async (kit) => {
    const { list } = kit.target;
    await expectWritten(kit, withList(kit, 'east'));
    expect((await readItem(kit))?.properties[list]).toBeNull();
    const [outcome] = await (await preparedWorker(kit)).apply(
      kit.target.container,
      [updateOperation('a', withList(kit, 'north'), null, (await kit.object('a')).remoteId)],
      signal(),
    );
    expect(written(outcome).stored?.properties[list] ?? 'north').toBe('north');
    expect((await readItem(kit))?.properties[list]).toBe('north');
  },
  'a refused value that the mapping itself names is a matter of settings, and fails': async (kit) => {
    const words = { list: kit.target.list, words: ['east'] };
    const worker = kit.worker({ properties: propertiesOf(kit, words) });
    const operation = kit.toCreate('a', withList(kit, 'east'));
    const error = await worker.apply(kit.target.container, [operation], signal()).then(
      ([outcome]) => failure(outcome),
      (thrown: MirrorError) => thrown,
    );
    expect(error).toMatchObject({ retry: 'never', about: expect.stringContaining(kit.target.list) });
    expect(await kit.objects()).toEqual([]);
  },
  'contacts with odd values cost the others nothing, and few requests more': async (kit) => {
    const plain = await requestsFor(kit, 'plain', () => ({}));
    const odd = await requestsFor(kit, 'odd', (index) => ODD[index % 12] ?? {});
    expect(odd).toBeLessThan(1.2 * plain);
  },
  'a first load with 1 % of values that are refused by name, in every batch, costs less than 1.2 times one without':
    async (kit) => {
      const load = 6 * kit.target.supports.batchSize;
      const withValues = (isOdd: boolean) =>
        Array.from({ length: load }, (_, index) =>
          kit.toCreate(`${isOdd}${index}`, withList(kit, isOdd && index % 100 === 50 ? `odd ${index}` : 'south')),
        );
      const plain = await requestsOf(kit, withValues(false));
      const odd = await requestsOf(kit, withValues(true));
      expect(odd).toBeLessThan(1.2 * plain);
      expect(odd, 'each value was refused by the CRM').toBeGreaterThan(plain);
      const lists = (await readAll(kit)).map((item) => item?.properties[kit.target.list] ?? null);
      expect(lists.filter((value) => value === null)).toHaveLength(load / 100);
      expect(lists.filter((value) => value === 'south')).toHaveLength(load * 2 - load / 100);
    },
  'one value that is refused by name costs the others nothing': async (kit) => {
    const worker = await preparedWorker(kit);
    const operations = Array.from({ length: 12 }, (_, index) =>
      kit.toCreate(`r${index}`, withList(kit, index === 5 ? 'east' : 'south')),
    );
    const outcomes = await worker.apply(kit.target.container, operations, signal());
    expect(outcomes.map(describeOutcome)).toEqual(operations.map(() => 'written created'));
    const lists = (await readAll(kit)).map((item) => item?.properties[kit.target.list]);
    expect(lists.filter((value) => value === 'south')).toHaveLength(11);
  },
});

const ODD: Partial<CrmValues>[] = [
  { email: 'mario.rossi@gmail,com' },
  { email: 'a1@example.org; b1@example.org' },
  { phone: SENTENCE },
  { title: LONG_NAME },
];

/** Requests for 48 contacts. */
async function requestsFor(kit: CrmKit, name: string, values: (index: number) => Partial<CrmValues>): Promise<number> {
  const row = (index: number) => kit.row({ title: `${name}${index}`, ...values(index) });
  return await requestsOf(
    kit,
    Array.from({ length: 48 }, (_, index) => kit.toCreate(`${name}${index}`, row(index))),
  );
}

/** Requests for creates. */
async function requestsOf(kit: CrmKit, operations: Operation<CrmItem>[]): Promise<number> {
  const worker = await preparedWorker(kit);
  kit.target.proxy.forget();
  const outcomes = await kit.attempt(operations, worker);
  expect(outcomes.map(describeOutcome)).toEqual(operations.map(() => 'written created'));
  return kit.target.proxy.requests.length;
}

/** Expects every other value. The odd value is empty, or unchanged if the CRM accepts it. */
function isLeftOut(odd: Partial<CrmValues>): ContractCase<CrmKit>['run'] {
  return async (kit) => {
    const { title, values } = await expectWritten(kit, kit.row({ title: 'Rossi', ...odd }));
    expect(title).toBe('Rossi');
    expect(values).toMatchObject({ number: 7, boolean: true, date: '2027-03-10' });
    for (const [role, value] of Object.entries(odd)) expect([null, value]).toContain(values[role as keyof CrmValues]);
    if ('email' in odd) expect(values.email).toBeNull();
  };
}

/** Expects that an item is written at the first attempt, reads back as its outcome reports, and appears in no log line. */
async function expectWritten(kit: CrmKit, item: CrmItem) {
  const worker = await preparedWorker(kit);
  const { firstName, list } = kit.target;
  const properties = { [firstName.property]: null, [list]: null, ...item.properties };
  const operation = kit.toCreate('a', { ...item, properties });
  const [outcome] = await worker.apply(kit.target.container, [operation], signal());
  expect(describeOutcome(outcome)).toBe('written created');
  expect(await readItem(kit)).toEqual(storedOf(operation, outcome));
  return await kit.object('a');
}

function storedOf(operation: Operation<CrmItem>, outcome: Outcome<CrmItem> | undefined): CrmItem | null {
  if (operation.kind === 'delete') return null;
  return written(outcome).stored ?? operation.item;
}

async function preparedWorker(kit: CrmKit) {
  const worker = kit.worker({ properties: propertiesOf(kit) });
  await containerOf(worker, kit.target.container, signal());
  return worker;
}

function propertiesOf({ target }: CrmKit, list: Partial<MappedProperty> = {}): MappedProperty[] {
  const { names, constants, firstName } = target;
  const all = mappedProperties(names).map(
    (property): MappedProperty => (property.name === names.title ? { ...property, namePart: 'last' } : property),
  );
  const first: MappedProperty = { name: firstName.property, kind: 'text', namePart: 'first' };
  return [...all, ...constants, first, { kind: 'text', ...list, name: target.list }];
}

function named(kit: CrmKit, first: string, last: PropertyValue): CrmItem {
  return withValue(kit.row({ title: last }), kit.target.firstName.property, first);
}

function withList(kit: CrmKit, value: string): CrmItem {
  return withValue(kit.row({}), kit.target.list, value);
}

function withValue(item: CrmItem, name: string, value: PropertyValue): CrmItem {
  return { ...item, properties: { ...item.properties, [name]: value } };
}

/** Returns all items read back, without values that the written item leaves open. */
async function readAll(kit: CrmKit): Promise<(CrmItem | null)[]> {
  const worker = kit.worker({ properties: propertiesOf(kit) });
  const read = (await Array.fromAsync(worker.read(kit.target.container, null, signal()))).flat();
  return read.map(({ item }) => item);
}

async function readItem(kit: CrmKit): Promise<CrmItem | null> {
  const worker = kit.worker({ properties: propertiesOf(kit) });
  const [found] = await worker.find(kit.target.container, [keyOf('a')], signal());
  return found?.item ?? null;
}
