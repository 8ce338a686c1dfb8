import { describe, expect, test } from 'vitest';
import { parseDocument } from 'yaml';
import { readSpecification } from '../../../src/setup/profile-finder/openapi.ts';
import { compared, withAppointments } from './documents.ts';

describe('an unusable document', () => {
  test.each([
    ['nothing', '', 'spec-not-openapi'],
    ['other JSON', '{"a": 1}', 'spec-not-openapi'],
    ['no paths', '{"openapi": "3.1.0"}', 'spec-not-openapi'],
    ['OpenAPI 4', '{"openapi": "4.0.0", "paths": {}}', 'spec-not-openapi'],
    ['text that is neither', 'a: b: [c', 'spec-unreadable'],
    ['more than 20 million characters', ' '.repeat(20_000_001), 'spec-too-large'],
  ])('%s', (_what, text, code) => {
    expect(() => readSpecification(text)).toThrow(expect.objectContaining({ actor: 'settings', code }));
  });

  test('aliases that grow without bound', () => {
    const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
    for (let level = 1; level < 12; level += 1) {
      lines.push(
        `a${level}: &a${level} [${Array(9)
          .fill(`*a${level - 1}`)
          .join(', ')}]`,
      );
    }
    expect(() => readSpecification(`openapi: 3.0.0\npaths: {}\n${lines.join('\n')}`)).toThrow(
      expect.objectContaining({ code: 'spec-unreadable' }),
    );
  });
});

/** Processor time, the least of three runs. */
function leastMs(read: () => unknown): number {
  const times = Array.from({ length: 3 }, () => {
    const before = process.threadCpuUsage();
    try {
      read();
    } catch {
      // Refused, which takes as long.
    }
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...times);
}

// Found by fuzzing (seed 1176263487): a document of 16 kB took 250 ms, mostly for the stacks of its errors.
test('a document with an error in each character is refused without the cost of a stack for each', () => {
  const text = `a: { b: s${'['.repeat(8_000)}`;
  const withStacks = leastMs(() => parseDocument(text, { prettyErrors: false, logLevel: 'silent' }));
  expect(leastMs(() => readSpecification(text))).toBeLessThan(withStacks / 2);
  expect(new Error('as before').stack).toContain('openapi.test.ts');
});

describe('an unusual document', () => {
  test('with circular and external references is read as far as possible, with a warning', () => {
    const row = {
      type: 'object',
      properties: {
        id: { type: 'string' },
        again: { $ref: '#/components/schemas/Row' },
        far: { $ref: 'other.yaml#/X' },
      },
      allOf: [{ $ref: '#/components/schemas/Row' }],
    };
    const document = withAppointments({ $ref: '#/components/schemas/Row' }, { components: { schemas: { Row: row } } });
    expect(readSpecification(document).remarks).toEqual([expect.stringContaining('other.yaml')]);
    expect(compared(document).findings).toContainEqual(
      expect.objectContaining({ location: 'appointments.fields.id', result: 'fits' }),
    );
  });

  test('with references in a ring, and schemas that double at every level, ends', () => {
    const schemas: Record<string, object> = {
      A: { $ref: '#/components/schemas/B' },
      B: { $ref: '#/components/schemas/A' },
    };
    for (let level = 0; level < 60; level += 1) {
      const next = { $ref: `#/components/schemas/L${level + 1}` };
      schemas[`L${level}`] = {
        allOf: [next, { ...next }],
        properties: { one: next, two: next, ring: { $ref: '#/components/schemas/A' } },
      };
    }
    const { remarks } = readSpecification(
      withAppointments({ $ref: '#/components/schemas/L0' }, { components: { schemas } }),
    );
    expect(remarks).toContainEqual(expect.stringContaining('more schemas'));
  });
});
