import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { type AnyOperation, inputOf, operation } from '../../../src/operator/operations/operation.ts';
import { openActing } from '../control/acting.ts';
import { openInstallation } from '../control/open-installation.ts';
import { contextWith } from './run-operation.ts';

const input = z.strictObject({ tenant: z.string() });

function declare(audit: Parameters<typeof operation<typeof input, z.ZodNumber, number>>[0]['audit'], error?: Error) {
  const acting = openActing();
  const declared = operation({
    ...{ summary: 'count', level: 'operator', input, output: z.number(), http: null, commands: [] },
    ...(audit === undefined ? {} : { audit }),
    async run() {
      if (error !== undefined) throw error;
      return 7;
    },
    auditResult: (result) => ({ count: result }),
  });
  const context = contextWith({ installation: openInstallation({ tenants: [] }), acting });
  return { acting, run: () => declared.run({ tenant: 'rossi' }, context) };
}
const about = ({ tenant }: { tenant: string }) => ({ verb: 'audit', tenant, what: { why: 'test' } }) as const;

describe('an operation that changes something', () => {
  test('is recorded before its begin and at its end, with its result', async () => {
    const { acting, run } = declare(about);
    expect(await run()).toBe(7);
    expect(acting.recorded).toMatchObject([
      { verb: 'audit', tenant: 'rossi', what: { why: 'test' }, outcome: 'begun' },
      { verb: 'audit', tenant: 'rossi', what: { count: 7 }, outcome: 'done' },
    ]);
  });

  test('is recorded with the code of its error', async () => {
    const { acting, run } = declare(about, new MirrorError('no', { actor: 'remote', code: 'away', retry: 'later' }));
    await expect(run()).rejects.toMatchObject({ code: 'away' });
    expect(acting.recorded.at(-1)).toMatchObject({ outcome: 'failed', code: 'away' });
  });

  test('that its audit refuses was not begun, and is not recorded', async () => {
    const { acting, run } = declare(() => Promise.reject(new Error('the tenant does not exist')));
    await expect(run()).rejects.toThrow('the tenant does not exist');
    expect(acting.recorded).toEqual([]);
  });
});

test.each([undefined, 'itself', () => null] as const)(
  'an operation with the audit %s is run and not recorded here',
  async (audit) => {
    const { acting, run } = declare(audit);
    expect([await run(), acting.recorded]).toEqual([7, []]);
  },
);

describe('the input of a caller without pages', () => {
  const ask = (fields: object, shape: z.ZodObject = input) =>
    inputOf({ input: shape } as unknown as AnyOperation, { ...fields }, 'give the tenant');

  test('requests the complete list if the operation has pages', () => {
    expect(ask({ tenant: 'a' })).toEqual({ tenant: 'a' });
    const paged = input.extend({ after: z.string().nullable().default(null), limit: z.number().default(10) });
    expect(ask({ tenant: 'a' }, paged)).toEqual({ tenant: 'a', after: null, limit: Number.MAX_SAFE_INTEGER });
  });

  test('that does not fit is request-invalid, and names the field', () => {
    expect(() => ask({ tenant: 7 })).toThrow(
      expect.objectContaining({
        ...{ actor: 'settings', code: 'request-invalid', retry: 'never', remedy: 'give the tenant' },
        message: expect.stringMatching(/^tenant: ./),
      }),
    );
    expect(() => ask({ tenant: 'a', more: 1 })).toThrow(
      expect.objectContaining({ code: 'request-invalid', message: expect.stringContaining('more') }),
    );
  });
});
