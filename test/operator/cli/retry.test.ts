import { expect, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import { openInstallation } from '../control/open-installation.ts';
import { AWAY, openServerAway } from '../control/server-away.ts';
import { openActsWorld } from '../control/services-world.ts';
import { runProgram } from './run-program.ts';

const redis = useRedis();

async function open() {
  const { tenant } = await openActsWorld(redis.connect());
  const installation = openInstallation({ tenants: [tenant] });
  return { installation, ...(await openServerAway(redis.connect(), installation)) };
}

test('the command of the problem makes the daemon retry the server, and lists its clinics', async () => {
  const { installation, woken } = await open();
  const told = await runProgram(['status', '--problems'], { installation });
  const [, command = ''] = /clinic-mirror (retry \S+)/.exec(told.out) ?? [];
  const { out, code, thrown } = await runProgram(command.split(' '), { installation });
  expect([code, thrown]).toEqual([0, null]);
  expect(out).toBe(`1 tenant retries ${AWAY} now, if the daemon runs: studio-rossi\n`);
  expect(woken).toEqual([expect.stringContaining(`${AWAY} studio-rossi/`)]);
});

test('the same answer is available as JSON', async () => {
  const { installation } = await open();
  const { out } = await runProgram(['retry', AWAY, '--json'], { installation });
  expect(JSON.parse(out)).toEqual({ host: AWAY, tenants: ['studio-rossi'], targets: 1 });
});

test('a server without pending retries is an error that says how to find its name', async () => {
  const { installation, woken } = await open();
  const { thrown } = await runProgram(['retry', 'other.example'], { installation });
  expect(thrown).toMatchObject({ code: 'server-not-away', remedy: expect.stringContaining('status --problems') });
  expect(woken).toEqual([]);
});
