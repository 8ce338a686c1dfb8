// Tier: full. Fetches Prometheus and systemd if the host has neither.
import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, type TestContext, test } from 'vitest';
import { PROMTOOL, SYSTEMD_ANALYZE } from '../tools/deployment-programs.ts';
import { terminalProgress } from '../tools/progress.ts';
import { resolveServer, type ServerCommand, type ServerSource, ServerUnavailable } from '../tools/server-command.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
/** Long enough to fetch a program. */
const FETCH_TIMEOUT_MS = 600_000;

/** Gives a `describe` a program; its tests are skipped with the reason if the program is unavailable. */
function useProgram(source: ServerSource) {
  let found: ServerCommand | ServerUnavailable;
  beforeAll(async () => {
    found = await resolveServer(source, terminalProgress).catch((error: unknown) => {
      if (error instanceof ServerUnavailable) return error;
      throw error;
    });
  }, FETCH_TIMEOUT_MS);
  return (context: TestContext, ...args: string[]) => {
    if (found instanceof ServerUnavailable) return context.skip(found.message);
    const { command, env } = found;
    return spawnSync(command, args, { encoding: 'utf8', env: { ...process.env, ...env } });
  };
}

describe('promtool', () => {
  const promtool = useProgram(PROMTOOL);

  test('accepts the alert rules', (context) => {
    const { status, stdout, stderr } = promtool(context, 'check', 'rules', `${root}deploy/prometheus/rules.yaml`);
    expect(status, `${stdout}${stderr}`).toBe(0);
  });

  test('confirms that the alerts fire', (context) => {
    const { status, stdout, stderr } = promtool(
      context,
      ...['test', 'rules', `${root}test/fixtures/prometheus/rules.test.yaml`],
    );
    expect(status, `${stdout}${stderr}`).toBe(0);
  });
});

describe('systemd-analyze', () => {
  const systemdAnalyze = useProgram(SYSTEMD_ANALYZE);

  test('knows every setting of the unit', (context) => {
    const unit = `${root}deploy/systemd/clinic-mirror.service`;
    const { error, stderr } = systemdAnalyze(context, 'verify', unit);
    expect(error).toBeUndefined();
    expect(stderr.split('\n').filter((line) => /Unknown (key|lvalue|section)|Failed to parse/.test(line))).toEqual([]);
  });
});
