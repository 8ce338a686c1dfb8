import { describe, expect, test } from 'vitest';
import { redisUnreachable, storedError } from '../../../src/core/model/errors.ts';
import { SERVER_AWAY } from '../../../src/core/model/problems.ts';
import { message } from '../../../src/messages/message.ts';
import { partOf, readInstallation } from '../../../src/operator/control/installation-readings.ts';
import { openStatuses } from '../../../src/operator/control/statuses.ts';
import { openInstallation } from './open-installation.ts';

const REDIS = { refusal: null, clockAheadMs: 0, daemonSeenAgoMs: 0, answerMs: 1, memory: null };

describe('a problem belongs to', () => {
  const problem = (tenant: string | null, code: string, subject = message('subject.state')) => ({
    ...{ tenant, code },
    texts: { subject, sentence: message('none') } as never,
  });

  test.each([
    ['redis', problem(null, 'redis-full')],
    ['servers', problem(null, SERVER_AWAY)],
    ['directory', problem(null, 'data-directory-failed')],
    ['expiry', problem('aurora', 'login-ending')],
    [null, problem('aurora', 'on-hold')],
  ])('%s', (part, of) => {
    expect(partOf(of)).toBe(part);
  });
});

describe('the readings of an installation', () => {
  const read = (redis: () => Promise<typeof REDIS>) =>
    readInstallation({ installation: { ...openInstallation({ tenants: [] }), redis }, statuses: openStatuses() }, {
      log: null,
    } as never);

  test('contain the refusal of the present test write, once', async () => {
    const refusal = storedError(redisUnreachable(new Error('full')));
    const found = await read(async () => ({ ...REDIS, refusal: refusal as never }));

    expect('problems' in found && found.problems.filter(({ code }) => code === refusal.code)).toHaveLength(1);
  });

  test('are the problem of Redis if Redis does not answer', async () => {
    const found = await read(() => Promise.reject(redisUnreachable(new Error('away'))));
    expect(found).toEqual({ away: expect.objectContaining({ code: 'redis-unreachable' }) });
  });

  test('fail for any other error', async () => {
    await expect(read(() => Promise.reject(new TypeError('a defect')))).rejects.toThrow('a defect');
  });
});
