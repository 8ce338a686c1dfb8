import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { OPERATION_CALLS } from '../../../src/clinic/api.ts';
import { OPERATIONS } from '../../../src/clinic/schema/operations.ts';
import { SPECIFICATION_ROWS } from '../../../tools/clinic-api-rows.ts';
import {
  CLINIC_API_DOCUMENT,
  clinicApiDocument,
  documentedOperations,
  faultsOf,
} from '../../../tools/write-clinic-api.ts';
import { openApi } from '../open-api.ts';
import { profileOf } from '../open-client.ts';

/** The operations of the specification, section 4, counted per part. */
const COUNTS = { '4.1': 1, '4.2': 4, '4.3': 2, '4.4': 9, '4.5': 2, '4.6': 2, '4.7': 3, '4.8': 5, '4.9': 5, '4.10': 4 };

const REST = { '4.11': 2, '4.12': 1, '4.13': 3 };

describe('every operation of the specification', () => {
  test('is in the table, once', () => {
    const total = Object.values({ ...COUNTS, ...REST }).reduce((sum, count) => sum + count, 0);
    expect(OPERATIONS).toHaveLength(total);
    expect(new Set(OPERATIONS.map(({ method, path }) => `${method} ${path}`)).size).toBe(total);
    expect(Object.keys(OPERATION_CALLS).sort()).toEqual(OPERATIONS.map(({ name }) => name).sort());
  });

  const api: Record<string, unknown> = openApi('http://127.0.0.1:1', profileOf(), 'token');
  test.each(documentedOperations())('$operation.name has a function, a sandbox route and a test', (documented) => {
    const [resource = '', verb = ''] = documented.calls.split('.');
    expect((api[resource] as Record<string, unknown>)[verb]).toBeTypeOf('function');
    expect(documented.route).not.toBeNull();
    expect(documented.tests).not.toEqual([]);
  });
});

test.each(SPECIFICATION_ROWS)('section $section, $what: is done, served and tested where the document says', (row) => {
  expect(faultsOf(row)).toEqual([]);
  expect(row.tests.length).toBeGreaterThan(0);
});

test('docs/clinic-api.md is current (else: npm run generate)', () => {
  expect(existsSync(CLINIC_API_DOCUMENT)).toBe(true);
  expect(readFileSync(CLINIC_API_DOCUMENT, 'utf8')).toBe(clinicApiDocument());
});
