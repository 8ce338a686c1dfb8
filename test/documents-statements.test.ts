// Tier: quick, at each change. Compares statements of documents with the constants, defaults and names in `src`.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { MirrorError } from '../src/core/model/errors.ts';
import { HOLD_KINDS } from '../src/core/model/plan.ts';
import { health, sync } from '../src/core/model/schemas.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../src/core/model/time.ts';
import { nextTry, targetBackoffMs } from '../src/engine/retry.ts';
import { message } from '../src/messages/message.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const flat = (path: string) => read(path).replaceAll(/\s+/g, ' ');
const UNITS: Readonly<Record<string, number>> = { SECOND_MS, MINUTE_MS, HOUR_MS, DAY_MS };
const WORDS = ['zero', 'one', 'two', 'three', 'four', 'five', 'six', 'seven', 'eight', 'nine', 'ten'];
const numberOf = (words: string) => (WORDS.includes(words) ? WORDS.indexOf(words) : Number(words.replaceAll(',', '')));

/** Returns the milliseconds of a constant that a source file does not export. */
function constantOf(file: string, name: string): number {
  const [, count = '', unit] =
    new RegExp(`^(?:export )?const ${name} = ([\\d_]+)(?: \\* (\\w+))?;$`, 'm').exec(read(file)) ?? [];
  return Number(count.replaceAll('_', '')) * (unit === undefined ? 1 : (UNITS[unit] ?? Number.NaN));
}

/** Returns every number that a document states with these words. */
function statedIn(document: string, words: RegExp): number[] {
  return [...flat(document).matchAll(new RegExp(words, 'g'))].map(([, stated = '']) => numberOf(stated));
}

const linesOfTable = (text: string) =>
  text
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split(' | ').map((cell) => cell.replaceAll(/^\| | \|$/g, '')));

const GRACE_MS = constantOf('src/daemon/daemon-work.ts', 'STOP_GRACE_MS');
const END_MS = constantOf('src/cli.ts', 'END_DEADLINE_MS');
const SILENCE_MS = constantOf('src/state/redis.ts', 'SILENCE_MS');
const COMMAND_MS = constantOf('src/state/redis.ts', 'COMMAND_TIMEOUT_MS');
const PATIENCE_MS = constantOf('src/command-line.ts', 'REDIS_PATIENCE_MS');
const DURABLE_MS = constantOf('src/state/redis.ts', 'PATIENCE_MS');
/** A silence is found by a look every second. */
const FOUND_MS = SILENCE_MS + constantOf('src/state/redis.ts', 'PING_EVERY_MS') / 2;

describe('seconds in documents are those of the program', () => {
  test.each([
    ['docs/design/state-in-redis.md', /Running calls have (\d+) s to finish/, GRACE_MS],
    ['docs/install/docker.md', /gives running requests (\d+) seconds/, GRACE_MS],
    ['docs/design/state-in-redis.md', /or after (\d+) s with 1/, END_MS],
    ['docs/install/docker.md', /exits after (\d+) seconds/, END_MS],
    ['docs/design/state-in-redis.md', /Redis is unreachable, `\/readyz` returns 503 within (\d+) s/, FOUND_MS],
    ['docs/design/state-in-redis.md', /commands report `redis-unreachable` after (\d+) s/, PATIENCE_MS],
    ['docs/design/state-in-redis.md', /sends to Redis fail after (\d+) s/, COMMAND_MS],
    ['docs/redis.md', /Each command waits at most (\w+) seconds/, COMMAND_MS],
    ['docs/safety.md', /503 after (\d+) to/, SILENCE_MS],
    ['docs/safety.md', /commands to Redis fail after (\d+) s/, COMMAND_MS],
    ['docs/safety.md', /operators' commands after (\d+) s/, PATIENCE_MS],
    ['docs/safety.md', /(\d+) s, then `state-not-durable`/, DURABLE_MS],
    ['docs/evaluate.md', /reports it after (\d+) to/, SILENCE_MS],
    ['docs/evaluate.md', /reports it after \d+ to (\d+) seconds/, FOUND_MS],
    ['docs/monitoring.md', /after (\w+) seconds without an answer/, SILENCE_MS],
    ['docs/install/docker.md', /Within (\w+) seconds, `\/readyz`/, FOUND_MS],
  ])('%s: %s', (document, words, ms) => {
    expect(statedIn(document, words).map((seconds) => seconds * SECOND_MS)).toEqual([ms]);
  });

  test('the times to stop leave every supervisor enough time', () => {
    expect(GRACE_MS + SECOND_MS).toBeLessThan(END_MS);
    const allowed = [
      ...[...read('compose.yaml').matchAll(/stop_grace_period: (\d+)s/g)],
      ...[...read('deploy/systemd/clinic-mirror.service').matchAll(/TimeoutStopSec=(\d+)/g)],
      ...readdirSync(join(root, 'deploy/kubernetes')).flatMap((name) =>
        name.endsWith('.yaml')
          ? [...read(`deploy/kubernetes/${name}`).matchAll(/terminationGracePeriodSeconds: (\d+)/g)]
          : [],
      ),
    ].map(([, seconds]) => Number(seconds) * SECOND_MS);
    expect(allowed.length).toBeGreaterThan(4);
    expect(allowed.filter((ms) => ms <= END_MS)).toEqual([]);
  });
});

describe('docs/errors.md states the retries', () => {
  const failure = (actor: 'remote' | 'settings') =>
    new MirrorError(message('connection-failed'), { actor, code: 'connection-failed', retry: 'later' });

  test('of one change: the number of attempts and the longest pause', () => {
    const [attempts = 0] = statedIn('docs/errors.md', /or after (\d+) attempts if action is required/);
    const parked = (count: number) => nextTry(failure('settings'), count, () => 0.5).parked;
    expect([parked(attempts - 1), parked(attempts)]).toEqual([false, true]);
    expect(nextTry(failure('remote'), 1_000, () => 0.5).parked).toBe(false);
    const [minutes = 0] = statedIn('docs/errors.md', /After 1 s, 2 s, … up to (\d+) minutes/);
    const longest = nextTry(failure('remote'), 1_000, () => 1).delayMs;
    expect(Math.round(longest / MINUTE_MS)).toBe(minutes);
  });

  test('of a whole target: the longest pauses', () => {
    const longest = (retry: 'later' | 'never') => {
      const error = new MirrorError(message('connection-failed'), {
        actor: 'remote',
        code: 'connection-failed',
        retry,
      });
      return targetBackoffMs(error, () => 1, DAY_MS);
    };
    const [minutes = 0] = statedIn('docs/errors.md', /duration of the failure, at most (\d+) minutes/);
    expect(longest('later')).toBe(minutes * MINUTE_MS);
    expect(flat('docs/errors.md')).toContain('of a whole target, if action is required | Within an hour');
    expect(longest('never')).toBe(HOUR_MS);
  });
});

describe('the version of Node.js', () => {
  const engines = /\d+/.exec((JSON.parse(read('package.json')) as { engines: { node: string } }).engines.node)?.[0];
  const suitable = /^const FIRST_SUITABLE_MAJOR = (\d+);$/m.exec(read('bin/pinned-node.js'))?.[1];

  test.each(['README.md', 'CONTRIBUTING.md', 'docs/quickstart.md', 'docs/evaluate.md', 'docs/install/systemd.md'])(
    'that %s requires to install is that of package.json',
    (document) => {
      const [, stated] = /Node\.js (\d+) or newer,? (?:with|and)? ?npm/.exec(flat(document)) ?? [];
      expect(stated).toBe(engines);
    },
  );

  test('that runs the program is the same in each document and in the image', () => {
    const stated = [
      ...read('README.md').matchAll(/packages, Node\.js (\d+)/g),
      ...read('docs/install/systemd.md').matchAll(/(?:installs|systems,) Node\.js (\d+)/g),
      ...read('docs/install/systemd.md').matchAll(/Node\.js (\d+) or newer as/g),
      ...read('docs/development.md').matchAll(/Node (\d+) or later/g),
      ...read('docs/releasing.md').matchAll(/node:(\d+)\./g),
      ...read('docs/design/unproved.md').matchAll(/are Node (\d+)\./g),
      ...read('Dockerfile').matchAll(/NODE_IMAGE=node:(\d+)\./g),
    ].map(([, version]) => version);
    expect(stated).toEqual(Array(8).fill(suitable));
  });
});

/** Returns the default of a setting, from the reference that the schema generates. */
function defaultOf(setting: string): number {
  const section = read('docs/configuration.md').split(`# \`${setting}\`\n`)[1]?.split('\n#')[0] ?? '';
  return Number(/Default: `([\d.]+)`/.exec(section)?.[1]);
}

describe('defaults in documents are those of the settings', () => {
  test.each([
    ['README.md', /Every (\w+) minutes, the daemon reads/, 'schedule.pullEverySeconds', 1 / 60],
    ['docs/evaluate.md', /by default every (\w+) minutes/, 'schedule.pullEverySeconds', 1 / 60],
    [
      'docs/evaluate.md',
      /asks calendars for changes every (\w+) minutes/,
      'targets.<name>.audit.changesEverySeconds',
      1 / 60,
    ],
    ['docs/evaluate.md', /holds more removals than (\w+) and 20 %/, 'guard.vanished.count', 1],
    ['docs/evaluate.md', /holds more removals than \w+ and (\d+) %/, 'guard.vanished.share', 100],
    ['docs/evaluate.md', /holds cancellations only above (\d+) and/, 'guard.cancelled.count', 1],
    ['docs/evaluate.md', /holds cancellations only above \d+ and (\d+) %/, 'guard.cancelled.share', 100],
    ['docs/evaluate.md', /by default (\d+) requests per minute/, 'clinicClients.<name>.budget.requestsPerMinute', 1],
    ['docs/safety.md', /more than (\d+) and more than 60 % of a target in an hour/, 'guard.cancelled.count', 1],
    ['docs/safety.md', /and more than (\d+) % of a target in an hour/, 'guard.cancelled.share', 100],
    ['docs/safety.md', /^.*max\((\d+), 20 %\)/, 'guard.vanished.count', 1],
    ['docs/holds.md', /are held if more than (\d+) and more than 20 %/, 'guard.vanished.count', 1],
    ['docs/holds.md', /are held if more than \d+ and more than (\d+) %/, 'guard.vanished.share', 100],
    ['docs/holds.md', /are held only above (\d+) and 60 %/, 'guard.cancelled.count', 1],
    ['docs/holds.md', /are held only above \d+ and (\d+) %/, 'guard.cancelled.share', 100],
    ['docs/alerts.md', /with `checkEveryMinutes: (\d+)`/, 'alerts.checkEveryMinutes', 1],
    ['docs/alerts.md', /after `outageAfterMinutes` \((\d+)\)/, 'alerts.outageAfterMinutes', 1],
  ])('%s: %s', (document, words, setting, factor) => {
    expect(statedIn(document, words)).toEqual([Math.round(defaultOf(setting) * factor)]);
  });

  test('docs/evaluate.md computes the requests of a day from the defaults', () => {
    const perDay = 86_400 / defaultOf('schedule.pullEverySeconds');
    const days = defaultOf('targets.<name>.window.pastDays') + defaultOf('targets.<name>.window.futureDays');
    const [, part] = /maxDays: (\d+)/.exec(read('config/profiles/documented.yaml')) ?? [];
    const perCycle = Math.ceil(days / Number(part));
    expect(statedIn('docs/evaluate.md', /(\d+) cycles a day/)).toEqual([perDay]);
    expect(statedIn('docs/evaluate.md', /\| 300 \| (\d+) \|/)).toEqual([perCycle]);
    expect(statedIn('docs/evaluate.md', /cycles a day make ([\d,]+) requests/)).toEqual([perDay * perCycle]);
    const asked = 86_400 / defaultOf('targets.<name>.audit.changesEverySeconds');
    expect(statedIn('docs/evaluate.md', /One calendar is asked (\d+) times a day/)).toEqual([asked]);
    expect(statedIn('docs/scaling.md', /which is (\d+) requests per calendar and day/)).toEqual([asked]);
  });

  test('an alert about Redis has no time of its own', () => {
    const [sentence = ''] = /An \[alert\]\(\.\.\/alerts\.md\)[^.]*\./.exec(flat('docs/install/docker.md')) ?? [];
    expect(sentence).toContain('after the time of other problems');
  });

  test('the setting with which vendors notify the daemon is the one that the program uses', () => {
    const [setting] = /notify the daemon of changes by hand if `([\w.]+)`/.exec(read('CHANGELOG.md'))?.slice(1) ?? [];
    expect(setting).toBe('notifications.url');
    expect(read('src/operator/control/status-view.ts')).toContain(
      "tenant.notifications.url === null) return 'no-public-address'",
    );
  });
});

describe('the states and kinds in documents are those of the program', () => {
  const shown = (state: string) => state.replaceAll('-', ' ');

  test('docs/pages.md names both scales of a target', () => {
    const [, ofSync = '', ofHealth = ''] =
      /the sync state \(([^;)]+)[^)]*\), and the health \(([^)]+)\)/.exec(flat('docs/pages.md')) ?? [];
    expect(ofSync.split(', ')).toEqual(sync.options.map(shown));
    expect(ofHealth.split(', ')).toEqual(health.options.map(shown));
  });

  test('docs/holds.md says of each kind what it holds, and what an approval does', () => {
    const [, section = ''] = /^## Kinds of holds\n([\s\S]*?)^## /m.exec(read('docs/holds.md')) ?? [];
    const kinds = section.split(/^(?=- )/m).slice(1);
    expect(kinds.map((kind) => /^- `([a-z-]+)`: /.exec(kind)?.[1]).sort()).toEqual([...HOLD_KINDS].sort());
    expect(kinds.filter((kind) => !kind.replaceAll(/\s+/g, ' ').includes('If you approve, '))).toEqual([]);
  });

  test('`holds approve` names no single effect, because each kind has another one', () => {
    const [, section = ''] = /^## `holds approve [^\n]+\n([\s\S]*?)^## /m.exec(read('docs/commands.md')) ?? [];
    expect(section).toContain('Carry out what the hold keeps back');
    expect(section).not.toMatch(/delete|deletion|remove|removal/i);
  });
});

describe('the alert rules in docs/monitoring.md are those of deploy/prometheus/rules.yaml', () => {
  const { groups } = parse(read('deploy/prometheus/rules.yaml')) as {
    groups: { rules: { alert: string; expr: string; for?: string; labels: { severity: string } }[] }[];
  };
  const rules = groups.flatMap((group) => group.rules);
  const rows = linesOfTable(read('docs/monitoring.md')).filter(([name]) => name?.startsWith('`ClinicMirror'));

  test('by name, duration and severity', () => {
    const stated = rows.map(([alert, , duration, severity]) => ({ alert, duration, severity }));
    expect(stated).toEqual(
      rules.map(({ alert, for: duration, labels }) => ({
        alert: `\`${alert}\``,
        duration: duration === undefined ? '–' : duration.replace(/m$/, ' minutes'),
        severity: labels.severity,
      })),
    );
  });

  /** Returns words of a condition that its row lacks. */
  function missingIn({ alert, expr }: { alert: string; expr: string }): string[] {
    const [, condition = ''] = rows.find(([name]) => name === `\`${alert}\``) ?? [];
    const seconds = [...expr.matchAll(/(\w+_seconds)(?:_bucket)?\b[^<>]*> (\d{3,})/g)].map(([, , limit]) =>
      Number(limit),
    );
    const limits = [...expr.matchAll(/[<>] (\d{3,})/g)].map(([, limit]) => Number(limit));
    const needed = [
      ...limits.map((limit) => (seconds.includes(limit) ? `${limit / 60} minutes` : `${limit}`)),
      ...(expr.includes('quantile(0.95') ? ['5 %'] : []),
      ...(expr.includes('> 0.5') ? ['half'] : []),
      ...(expr.includes('_next_48h_') ? ['48 hours'] : []),
      ...(/\[1h\]|offset 1h/.test(expr) ? ['within an hour'] : []),
      ...(/\[30m\]/.test(expr) ? ['within 30 minutes'] : []),
      ...(expr.includes('health!="action-required"') ? ['does not require action'] : []),
    ];
    return needed.filter((words) => !condition.includes(words)).map((words) => `${alert}: ${words}`);
  }

  test('with each number of every condition', () => {
    expect(rules.flatMap(missingIn)).toEqual([]);
  });
});

describe('docs/extending.md', () => {
  const text = read('docs/extending.md');
  const linesBelow = (folder: string, chosen = (_: string) => true) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && chosen(name))
      .reduce((sum, name) => sum + read(join(folder, name)).split('\n').length - 1, 0);
  const foldersIn = (folder: string) =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) =>
      entry.isDirectory() ? [entry.name] : [],
    );
  /** Lines, to a tenth of the smaller number. */
  const near = (lines: number, stated: number) => Math.abs(lines - stated) <= stated / 10;

  test('states the sizes of connectors, contract targets and sandboxes', () => {
    const [least = 0, most = 0] = [/has ([\d,]+) to/, /has [\d,]+ to ([\d,]+) lines/].map(
      (words) => statedIn('docs/extending.md', words)[0],
    );
    const writing = foldersIn('src/connectors').filter((name) =>
      existsSync(join(root, `src/connectors/${name}/connector.ts`)),
    );
    const sizes = writing.map((name) => linesBelow(`src/connectors/${name}`)).filter((lines) => lines > 500);
    expect(sizes.length).toBeGreaterThan(4);
    expect([near(Math.min(...sizes), least), near(Math.max(...sizes), most)]).toEqual([true, true]);
    const [from = 0, to = 0] = [/contract target (\d+) to/, /contract target \d+ to (\d+)/].map(
      (words) => statedIn('docs/extending.md', words)[0],
    );
    const targets = readdirSync(join(root, 'test/contract')).filter((name) =>
      /^[a-z]+-[a-z]*-?target\.ts$|^hubspot-target/.test(name),
    );
    const ofTargets = targets
      .map((name) => read(`test/contract/${name}`).split('\n').length - 1)
      .filter((lines) => lines > 100);
    expect([near(Math.min(...ofTargets), from), near(Math.max(...ofTargets), to)]).toEqual([true, true]);
    const [sandbox = 0] = statedIn('docs/extending.md', /whole vendor has about ([\d,]+) lines/);
    const vendors = ['google', 'graph', 'hubspot', 'salesforce'].map((name) => linesBelow(`sandbox/${name}`));
    expect(near(vendors.reduce((sum, lines) => sum + lines, 0) / vendors.length, sandbox)).toBe(true);
  });

  test('names the smallest feature', () => {
    const [, named] = /`(\w+)\/` is the smallest example/.exec(text) ?? [];
    const features = foldersIn('src/features');
    const smallest = features.toSorted(
      (one, other) => linesBelow(`src/features/${one}`) - linesBelow(`src/features/${other}`),
    );
    expect(named).toBe(smallest[0]);
  });

  test('names files and parts of the program that exist', () => {
    const sources = ['src', 'test', 'tools', 'sandbox', 'config'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((name) => join(folder, name)),
    );
    const texts = sources
      .filter((name) => /\.(ts|js)$/.test(name))
      .map(read)
      .join('\n');
    const named = [...new Set([...text.matchAll(/`([^`\s<]+)`/g)].map(([, name = '']) => name))];
    const files = named.filter((name) => /^[^*]+\.(ts|md|yaml|json|sample)$/.test(name));
    const parts = named.filter((name) => /^[A-Za-z_]{5,}$/.test(name));
    expect([files.length, parts.length].every((count) => count > 15)).toBe(true);
    expect(
      files.filter((file) => !existsSync(join(root, file)) && !sources.some((one) => one.endsWith(`/${file}`))),
    ).toEqual([]);
    expect(parts.filter((part) => !new RegExp(`\\b${part}\\b`).test(texts))).toEqual([]);
  });
});
