import { expect } from 'vitest';
import { matches } from '../../../sandbox/kit/fault-proxy.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import type { MappedProperty } from '../../../src/core/model/items.ts';
import { containerOf } from '../../support/container-of.ts';
import { group } from '../contract-case.ts';
import { failure, signal } from '../contract-kit.ts';
import type { CrmKit } from '../crm-kit.ts';
import { mappedProperties } from '../crm-target.ts';

/** The connector checks the CRM's list of properties before any write. */
export const crmProperties = group<CrmKit>('properties', {
  'a target whose properties are all there is taken, again and again': async (kit) => {
    const container = await containerOf(kit.connector, null, signal());
    expect(await containerOf(kit.connector, container, signal())).toBe(container);
    expect(await containerOf(kit.worker(), null, signal())).toBe(container);
    expect(container).toBe(kit.target.container);
    expect(await kit.readAll()).toEqual([]);
  },
  'a property that the CRM lacks is a matter of settings, named, and nothing is written': async (kit) => {
    await expectRefused(kit, { name: 'no_such_property', kind: 'text' });
  },
  'a property whose values are of another kind is a matter of settings, named': async (kit) => {
    await expectRefused(kit, { name: kit.target.names.number, kind: 'date' });
    await expectRefused(kit, { name: kit.target.names.boolean, kind: 'instant' });
  },
  'a property that an administrator took away is a matter of settings, named': async (kit) => {
    await containerOf(kit.connector, null, signal());
    await kit.target.server.removeProperty('note');
    const usual = mappedProperties(kit.target.names).find(({ name }) => name === kit.target.names.note)!;
    await expectRefused(kit, usual);
  },
  'a write that meets a property that is gone is a matter of settings, named': async (kit) => {
    await containerOf(kit.connector, null, signal());
    await kit.target.server.removeProperty('note');
    const before = await kit.objects();
    const error = failure((await kit.attempt([kit.toCreate('a')]))[0]);
    expect(error).toMatchObject({ actor: 'settings', retry: 'never' });
    expect(`${error.message} ${error.remedy}`).toContain(kit.target.names.note);
    expect(await kit.objects()).toEqual(before);
  },
});

async function expectRefused(kit: CrmKit, property: MappedProperty): Promise<void> {
  const others = mappedProperties(kit.target.names).filter(({ name }) => name !== property.name);
  const worker = kit.worker({ properties: [...others, property] });
  const before = await kit.objects();
  kit.target.proxy.forget();
  const error = await containerOf(worker, null, signal()).then(
    () => null,
    (refusal: MirrorError) => refusal,
  );
  expect(error).toMatchObject({ name: 'MirrorError', actor: 'settings', retry: 'never' });
  const words = `${error?.message} ${error?.remedy}`;
  expect(words).toContain(property.name);
  expect(others.filter(({ name }) => new RegExp(`\\b${name}\\b`).test(words))).toEqual([]);
  expect(kit.target.proxy.requests.filter((request) => matches(kit.target.dialect.writes, request))).toEqual([]);
  expect(await kit.objects()).toEqual(before);
}
