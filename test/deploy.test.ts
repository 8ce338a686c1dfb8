import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { ROLES } from '../src/operator/control/roles.ts';
import { JOBS } from '../src/tenant/job-catalogue.ts';

const root = fileURLToPath(new URL('../', import.meta.url));
const read = (path: string) => readFileSync(root + path, 'utf8');

/** Every metric that the documents list; another test holds these to the program. */
const metrics = new Set(
  [...read('docs/monitoring.md').matchAll(/^\| `(clinic_mirror_[a-z0-9_]+)` \|/gm)].map(([, name = '']) => name),
);

function metricsIn(text: string): string[] {
  return [...text.matchAll(/clinic_mirror_[a-z0-9_]+/g)].map(([name]) => name.replace(/_(bucket|sum|count)$/, ''));
}

const rules = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.strictObject({
            alert: z.string(),
            expr: z.string(),
            for: z.string().optional(),
            labels: z.object({ severity: z.enum(['warning', 'critical']) }),
            annotations: z.strictObject({ summary: z.string(), description: z.string() }),
          }),
        ),
      }),
    ),
  })
  .parse(parse(read('deploy/prometheus/rules.yaml')))
  .groups.flatMap((group) => group.rules);

test('alarms and dashboard use existing metrics', () => {
  expect(metrics.size).toBeGreaterThan(25);
  for (const path of ['deploy/prometheus/rules.yaml', 'deploy/grafana/dashboard.json']) {
    const asked = metricsIn(read(path));
    expect(asked.length).toBeGreaterThan(5);
    expect(asked.filter((name) => !metrics.has(name))).toEqual([]);
  }
});

test('a daemon that is gone and figures that are missing raise alarms', () => {
  const exprs = rules.map(({ expr }) => expr).join('\n');
  expect(exprs).toContain('max(up{job="clinic-mirror"}) == 0');
  expect(exprs).toContain('absent(up{job="clinic-mirror"})');
  expect(exprs).toContain('absent(clinic_mirror_state_age_seconds)');
});

describe('each alert rule', () => {
  const { tests } = z
    .object({
      tests: z.array(
        z.object({
          input_series: z.array(z.object({ series: z.string() })),
          alert_rule_test: z.array(z.object({ alertname: z.string(), exp_alerts: z.array(z.unknown()) })),
        }),
      ),
    })
    .parse(parse(read('test/fixtures/prometheus/rules.test.yaml')));
  const cases = tests.flatMap(({ input_series: series, alert_rule_test: checks }) => {
    const replicas = new Set(series.flatMap((each) => /instance="(\w+)"/.exec(each.series)?.[1] ?? []));
    return checks.map(({ alertname, exp_alerts }) => ({
      alertname,
      alerts: exp_alerts.length,
      replicas: replicas.size,
    }));
  });

  test.each(rules.map(({ alert }) => alert))(
    '%s has a case with two replicas and one alert, and a case without an alert',
    (alert) => {
      const own = cases.filter(({ alertname }) => alertname === alert);
      expect(own.some(({ alerts, replicas }) => alerts === 1 && replicas === 2)).toBe(true);
      expect(own.some(({ alerts }) => alerts === 0)).toBe(true);
    },
  );
});

test('every command that an alarm names is one that the documents list', () => {
  const commands = rules.flatMap(({ annotations }) =>
    [...annotations.description.matchAll(/clinic-mirror ([a-z]+(?: [a-z]+)?)/g)].map(([, words = '']) => words),
  );
  expect(commands.length).toBeGreaterThan(5);
  const documented = read('docs/commands.md');
  for (const command of commands) expect(documented).toContain(`\n## \`${command}`);
});

test('each panel of the dashboard has a query, and none covers another', () => {
  const { panels } = JSON.parse(read('deploy/grafana/dashboard.json')) as {
    panels: { title: string; gridPos: { x: number; y: number; w: number; h: number }; targets: { expr: string }[] }[];
  };
  const taken = new Set<string>();
  for (const { title, gridPos, targets } of panels) {
    expect(
      targets.every(({ expr }) => expr.length > 0),
      title,
    ).toBe(true);
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
        expect(x).toBeLessThan(24);
        expect(taken.has(`${x}/${y}`), title).toBe(false);
        taken.add(`${x}/${y}`);
      }
    }
  }
});

test('the unit runs the daemon as its own user, reloads by SIGHUP, and grants no capability', () => {
  const unit = read('deploy/systemd/clinic-mirror.service');
  for (const line of [
    'User=clinic-mirror',
    'ExecReload=/bin/kill -HUP $MAINPID',
    'CapabilityBoundingSet=',
    'Restart=always',
  ])
    expect(unit.split('\n')).toContain(line);
  expect(unit).toMatch(/^ExecStart=.*clinic-mirror\.js run$/m);
});
type Manifest = { kind: string; metadata: { name: string }; spec: Record<string, unknown> };
const folder = 'deploy/kubernetes/';
const manifests = readdirSync(root + folder)
  .filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml')
  .flatMap((name) => parseAllDocuments(read(folder + name)).map((document) => document.toJS() as Manifest));
const kustomization = parse(read(`${folder}kustomization.yaml`)) as { resources: string[] };

test('every manifest is a resource, and every part but the whole has a deployment and a disruption budget', () => {
  const files = readdirSync(root + folder).filter((name) => name.endsWith('.yaml') && name !== 'kustomization.yaml');
  expect([...kustomization.resources].sort()).toEqual(files.sort());
  const parts = ROLES.filter((role) => role !== 'all');
  const of = (kind: string) => manifests.filter((one) => one.kind === kind).map(({ metadata }) => metadata.name);
  expect(of('Deployment').sort()).toEqual([...parts].sort());
  expect(of('PodDisruptionBudget').sort()).toEqual([...parts].sort());
});

const container = z.object({
  args: z.tuple([z.literal('clinic-mirror'), z.literal('run'), z.literal('--role'), z.enum(ROLES)]),
  livenessProbe: z.object({ httpGet: z.object({ path: z.literal('/healthz'), port: z.literal('operator') }) }),
  readinessProbe: z.object({ httpGet: z.object({ path: z.literal('/readyz'), port: z.literal('operator') }) }),
  resources: z.object({ limits: z.object({ memory: z.string() }) }),
  securityContext: z.object({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.object({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
});
const pod = z.object({
  automountServiceAccountToken: z.literal(false),
  terminationGracePeriodSeconds: z.number().min(12),
  securityContext: z.object({ runAsNonRoot: z.literal(true), runAsUser: z.literal(1_000) }),
  containers: z.tuple([container]),
  volumes: z.array(z.object({ name: z.string() })),
});

test.each(
  manifests.filter(({ kind }) => kind === 'Deployment').map(({ metadata, spec }) => [metadata.name, spec] as const),
)('the part %s runs without rights, with probes, and mounts what it has', (name, spec) => {
  const { template } = spec as { template: { spec: unknown } };
  const { containers, volumes } = pod.parse(template.spec);
  expect(containers[0].args[3]).toBe(name);
  expect(containers[0].volumeMounts.map((mount) => mount.name).sort()).toEqual(volumes.map((one) => one.name).sort());
});

interface PodTemplate {
  template?: { spec: { containers: { image: string; command?: unknown }[] } };
}

describe('no process of a deployment writes a core file', () => {
  test('under systemd: each unit', () => {
    const units = readdirSync(`${root}deploy/systemd`).filter((name) => name.endsWith('.service'));
    expect(units.length).toBeGreaterThan(0);
    const allowing = units.filter((name) => !read(`deploy/systemd/${name}`).split('\n').includes('LimitCORE=0'));
    expect(allowing).toEqual([]);
  });

  test('under Docker Compose: each service', () => {
    const { services } = parse(read('compose.yaml'), { merge: true }) as {
      services: Record<string, { ulimits?: { core?: number } }>;
    };
    expect(Object.keys(services)).toEqual(expect.arrayContaining(['daemon', 'redis']));
    expect(Object.entries(services).filter(([, { ulimits }]) => ulimits?.core !== 0)).toEqual([]);
  });

  // Kubernetes has no setting for the limit, so the image sets it.
  const [, entry = ''] = /^ENTRYPOINT (.+)$/m.exec(read('Dockerfile')) ?? [];

  test('under Docker and Kubernetes: the entry point of the image', () => {
    const [program = '', ...words] = JSON.parse(entry) as string[];
    const limits = ['sh', '-c', 'ulimit -S -c; ulimit -H -c; echo "$0 $1"', 'a b', '$c'];
    expect(execFileSync(program, [...words, ...limits], { encoding: 'utf8' })).toBe('0\n0\na b $c\n');
  });

  test('under Kubernetes: no container replaces the entry point', () => {
    const containers = manifests.flatMap(({ spec }) => {
      const pods = (spec as PodTemplate | undefined)?.template?.spec;
      return pods?.containers ?? [];
    });
    expect(containers.map(({ image }) => image)).toEqual(Array(ROLES.length - 1).fill('clinic-mirror'));
    expect(containers.filter(({ command }) => command !== undefined)).toEqual([]);
  });
});

test('workers are scaled by queues that there are', () => {
  const [scaled] = parseAllDocuments(read('deploy/kubernetes-keda/scaled-worker.yaml')).map((one) => one.toJS());
  const lists = (scaled.spec.triggers as { metadata: { listName: string } }[]).map(({ metadata }) => metadata.listName);
  const names = lists.map((list) => /^\{clinic-mirror\}:([a-z-]+):wait$/.exec(list)?.[1]);
  expect(names.length).toBeGreaterThan(0);
  for (const name of names) expect(Object.keys(JOBS)).toContain(name);
});
