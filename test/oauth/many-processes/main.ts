import { parseArgs } from 'node:util';
import { renderTable } from '../../../src/operator/cli/table.ts';
import { startRedis } from '../../../tools/redis.ts';
import { runTrial, type TrialFigures } from './trial.ts';

const USAGE = `npm run refresh -- [--processes 50] [--rounds 200] [--kill-every 4] [--json]

Processes share one connection to an authorization server. The server replaces refresh tokens, and revokes the grant if it receives an
old one. In each round the access token expires, and all processes request a new one at once. In one round of --kill-every, SIGKILL stops a
process during its refresh: before the request (noted), after the answer (answered), or with the answer in Redis (stored). Figures go to
standard output, progress to standard error. The exit code is 0 if each expiry caused one request, grants were lost only in "answered", and
all processes reported the loss.`;

const { values } = parseArgs({
  options: {
    processes: { type: 'string', default: '50' },
    rounds: { type: 'string', default: '200' },
    'kill-every': { type: 'string', default: '4' },
    json: { type: 'boolean', default: false },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

async function main(): Promise<number> {
  const [processes = 0, rounds = 0, killEvery = 0] = [values.processes, values.rounds, values['kill-every']].map(
    Number,
  );
  const areUsable = [processes - 1, rounds, killEvery].every((count) => Number.isInteger(count) && count > 0);
  if (values.help || !areUsable) {
    process.stderr.write(`${USAGE}\n`);
    return values.help ? 0 : 2;
  }
  await using opened = new AsyncDisposableStack();
  const redis = await startRedis();
  opened.defer(() => redis.stop());
  process.stderr.write(`${processes} processes are started …\n`);
  const onRound = (round: number) => {
    if (round % 20 === 0) process.stderr.write(`${round} of ${rounds} rounds\n`);
  };
  const figures = await runTrial({ redisUrl: redis.url, processes, rounds, killEvery, onRound });
  process.stdout.write(`${values.json ? JSON.stringify({ processes, ...figures }, null, 2) : rendered(figures)}\n`);
  return figures.defects.length === 0 ? 0 : 1;
}

function rendered({ kinds, defects }: TrialFigures): string {
  const rows = Object.entries(kinds)
    .filter(([, { rounds }]) => rounds > 0)
    .map(([kind, { rounds, requests, lost, told, durationMs }]) => [
      kind,
      String(rounds),
      requests.least === requests.most ? String(requests.most) : `${requests.least} to ${requests.most}`,
      String(lost),
      String(told),
      String(durationMs.median),
      String(durationMs.most),
    ]);
  const numbers = ['rounds', 'requests in each', 'grants lost', 'reported by all', 'median ms', 'longest ms'];
  const columns = ['killed at', ...numbers.map((heading) => ({ heading, right: true }))];
  return [renderTable(columns, rows), '', `defects: ${defects.length}`, ...defects].join('\n');
}

process.exitCode = await main();
