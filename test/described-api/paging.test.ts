import { expect, test } from 'vitest';
import { pagingSchema } from '../../src/clinic/schema/paging.ts';
import { descriptionSchema } from '../../src/connectors/rest-crm/description.ts';
import { profiles } from '../../src/connectors/rest-crm/schemas.ts';
import { pagingStyles } from '../../src/described-api/paging.ts';

/** Paging in a description of a CRM whose list takes every placeholder. */
function inCrm(paging: object): object | null {
  const written = structuredClone(profiles.espocrm!) as { streams: { patients: { list: Record<string, unknown> } } };
  const query = { page: '{{page}}', offset: '{{offset}}', cursor: '{{cursor}}' };
  written.streams.patients.list = { call: { method: 'GET', path: '/x', query }, listPath: '.', paging };
  return descriptionSchema.safeParse(written).data?.streams.patients?.list.paging ?? null;
}

test.each([
  { style: 'none' },
  { style: 'offset-limit', hasMorePath: 'more', totalPath: 'header:X-Total', size: 7, startIndex: 1 },
  { style: 'page-size', hasMorePath: 'more', totalPath: 'total', size: 7, startIndex: 0 },
  { style: 'cursor', hasMorePath: 'more', size: 7, cursorPath: 'meta.next' },
  { style: 'next-link', hasMorePath: null, size: 7, linkPath: 'links' },
  { style: 'link-header', hasMorePath: 'more', size: 7 },
])('%j is paging in a clinic profile and in the description of a CRM', (paging) => {
  expect(inCrm(paging)).toEqual(paging);
  expect(pagingSchema.parse(paging)).toMatchObject(paging);
});

test('every style is one of both descriptions', () => {
  const styles = Object.keys(pagingStyles);
  expect(pagingSchema.options.map((option) => option.shape.style.value).sort()).toEqual(styles.sort());
});
