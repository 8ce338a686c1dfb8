import { randomBytes } from 'node:crypto';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { runHere } from './e2e/support/run-command.ts';
import { type Manifest, renderKustomization, writePodFiles } from './support/kustomize.ts';

const deploy = fileURLToPath(new URL('../deploy', import.meta.url));
const SECRETS: Readonly<Record<string, string>> = {
  redis_url: 'rediss://clinic-mirror:of-the-tests@redis.redis.svc:6379',
  identity_key: randomBytes(32).toString('base64'),
  sealing_key: randomBytes(32).toString('base64'),
  operator_token: randomBytes(32).toString('hex'),
  clinic_client_secret: 'a client secret',
  'aurora/calendar_password': 'a password',
  'belvedere/hubspot_token': 'pat-of-the-tests',
};

let folder: string;
let manifests: Manifest[];
/** A copy with a file for each secret, as docs/install/kubernetes.md instructs. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-kubernetes-'));
  cpSync(join(deploy, 'kubernetes'), folder, { recursive: true });
  for (const [name, secret] of Object.entries(SECRETS)) {
    const file = join(folder, 'secrets', name);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `${secret}\n`);
  }
  manifests = renderKustomization(folder);
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const named = (kind: string, name: string) =>
  manifests.find((one) => one.kind === kind && one.metadata.name === name)?.spec as Record<string, unknown>;

describe.each(['scheduler', 'worker', 'http'])('the pods of %s', (deployment) => {
  /** Creates the pods' files, with container paths below a folder of the test. @returns the configuration directory */
  function podFiles(of: readonly Manifest[] = manifests): { root: string; configDir: string } {
    const root = mkdtempSync(join(folder, `${deployment}-`));
    // What the image brings.
    cpSync(join(deploy, '../config/profiles'), join(root, 'app/config/profiles'), { recursive: true });
    writePodFiles(of, deployment, root);
    const settings = join(root, 'app/config/clinic-mirror.yaml');
    const here = readFileSync(settings, 'utf8').replaceAll('/run/secrets/', `${root}/run/secrets/`);
    writeFileSync(settings, here.replace('dataDirectory: /data', `dataDirectory: ${root}/data`));
    return { root, configDir: join(root, 'app/config') };
  }

  test('run a CalDAV tenant and a HubSpot tenant, each with a separate secret', async () => {
    const { configDir } = podFiles();
    const { code, out, err } = await runHere({ configDir, env: {} }, ['config', 'check', '--json']);
    expect(JSON.parse(out), err).toEqual({ ok: true, faults: [], warnings: [] });
    expect(code).toBe(0);
  });

  test('show a tenant no secret of another one, and miss none silently', async () => {
    const without = manifests.map((one) =>
      one.kind === 'Secret' && one.metadata.name === 'secrets-of-aurora' ? { ...one, data: {} } : one,
    );
    const { configDir } = podFiles(without);
    const { code, out } = await runHere({ configDir, env: {} }, ['config', 'check']);
    expect(code).toBe(2);
    expect(out).toMatch(/aurora\.yaml\n.*connections\.practice\.password: .*cannot be read \(ENOENT\)/);
    expect(out).not.toMatch(/belvedere\.yaml/);
  });
});

test('what leaves the pods goes to names, to Redis and to the internet, never to private networks or a metadata service', () => {
  const { policyTypes, egress } = named('NetworkPolicy', 'clinic-mirror-egress') as {
    policyTypes: string[];
    egress: { to: { ipBlock?: { cidr: string; except: string[] } }[]; ports: { port: number }[] }[];
  };
  expect(policyTypes).toEqual(['Egress']);
  expect(egress.every(({ ports }) => ports.length > 0)).toBe(true);
  const [blocks] = egress.filter(({ to }) => to.some(({ ipBlock }) => ipBlock !== undefined));
  const excepted = blocks?.to.flatMap(({ ipBlock }) => ipBlock?.except ?? []) ?? [];
  for (const network of ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '169.254.0.0/16', 'fc00::/7', 'fe80::/10']) {
    expect(excepted).toContain(network);
  }
});

test('an ingress leads to a service that there is, and a service to a port of the pods', () => {
  const services = manifests.filter(({ kind }) => kind === 'Service');
  const ingresses = manifests.filter(({ kind }) => kind === 'Ingress');
  expect(ingresses).toHaveLength(2);
  const ports = JSON.stringify(named('Deployment', 'http'));
  for (const { spec } of ingresses) {
    const { rules, tls } = spec as {
      rules: { host: string; http: { paths: { backend: { service: { name: string; port: { name: string } } } }[] } }[];
      tls: { hosts: string[] }[];
    };
    expect(tls.flatMap(({ hosts }) => hosts)).toEqual(rules.map(({ host }) => host));
    for (const { name, port } of rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend.service))) {
      const service = services.find(({ metadata }) => metadata.name === name);
      const offered = (service?.spec?.ports ?? []) as { name: string; targetPort: string }[];
      const found = offered.find((one) => one.name === port.name);
      expect(ports).toContain(`{"name":"${found?.targetPort}","containerPort":`);
    }
  }
});

describe('for the Prometheus Operator', () => {
  const monitoring = renderKustomization(join(deploy, 'kubernetes-monitoring'));
  const monitored = (kind: string) => monitoring.find((one) => one.kind === kind);

  test('the operator port of every role is scraped, with the token, as the job that the alarms expect', () => {
    const { spec } = monitored('ServiceMonitor') as { spec: Record<string, unknown> };
    const service = monitored('Service');
    expect(spec).toMatchObject({
      jobLabel: 'app.kubernetes.io/name',
      selector: { matchLabels: service?.metadata.labels },
      endpoints: [{ port: 'operator', path: '/metrics', authorization: { credentials: { key: 'operator_token' } } }],
    });
    expect(service?.spec).toMatchObject({ ports: [{ name: 'operator', targetPort: 'operator' }] });
    for (const name of ['scheduler', 'worker', 'http']) {
      expect(JSON.stringify(named('Deployment', name))).toContain('{"name":"operator","containerPort":8090}');
    }
  });

  test('the alarms are those of deploy/prometheus', () => {
    const rules = parse(readFileSync(join(deploy, 'prometheus/rules.yaml'), 'utf8'));
    expect(monitored('PrometheusRule')?.spec).toEqual(rules);
  });
});

test('with KEDA the same is rendered, and more workers by the queues', () => {
  const [kustomization] = parseAllDocuments(readFileSync(join(deploy, 'kubernetes-keda/kustomization.yaml'), 'utf8'));
  expect(kustomization?.toJS().resources).toEqual(['../kubernetes', 'scaled-worker.yaml']);
});
