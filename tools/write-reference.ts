/**
 * Writes the tables between `<!-- reference: … -->` and `<!-- end -->`, from schemas of settings, catalogues of errors, decision records and
 * results of measurements; also the pictures of the results.
 */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { RESOURCES } from '../src/clinic/schema/resources.ts';
import { connectors } from '../src/connectors/registry.ts';
import { addFeatureMetrics } from '../src/features/metrics.ts';
import { reminderChannels } from '../src/features/reminders/channels/registry.ts';
import { CODE_GROUPS } from '../src/operator/codes/catalogue.ts';
import { allCodes, errorCatalogues } from '../src/operator/codes/why.ts';
import { createMetrics } from '../src/operator/control/metrics.ts';
import { openApiDocument } from '../src/operator/http-server/api/openapi.ts';
import { ROUTES } from '../src/operator/http-server/api/routes.ts';
import { CRM_SOURCES, type CrmStream } from '../src/settings/crm-schema.ts';
import { jsonSchemas } from '../src/settings/json-schemas.ts';
import { renderCrmFields } from './crm-fields-table.ts';
import { type DecisionRecord, renderDecisions } from './decision-table.ts';
import { renderCodes, renderErrors, renderSamples } from './error-table.ts';
import { FAULTS, INSTALLATION_FAULTS, renderFaults } from './fault-table.ts';
import { AMBIGUOUS_WORDS, renderTerms, renderWords, TERMS } from './house/words.ts';
import { renderLimits, SOURCE_LIMITS } from './limits-table.ts';
import { renderMetrics } from './metrics-table.ts';
import { performanceParts, performancePictures, readResults } from './performance-page.ts';
import { renderProfile } from './profile-table.ts';
import { KEY_PROTECTIONS, renderKeyProtections } from './redis-keys-table.ts';
import { renderRoutes } from './route-table.ts';
import { keysOfSchema, renderKeys, renderSettings, type SchemaKey } from './schema-table.ts';

const docs = join(import.meta.dirname, '../docs');
const decisions = join(docs, '../decisions');
const measured = readResults(join(docs, 'performance'));
const FILES = [
  '../SECURITY.md',
  '../decisions/README.md',
  'api.md',
  'configuration.md',
  'clinic-profile-reference.md',
  'crm-mapping.md',
  'design/redis-keys.md',
  'errors.md',
  'glossary.md',
  'monitoring.md',
  'performance.md',
  'reminders.md',
  'runbook.md',
];
const BLOCK = /(<!-- reference: ([a-z-]+) -->\n)[\s\S]*?(<!-- end -->)/g;
const VENDOR_PART = 'targets.<name>.settings.';
const CHANNEL_PART = 'reminders.channels.<name>.settings.';

/** The errors of each connector by its name, and the errors of any connector. */
export const catalogues = await errorCatalogues();

/** The documents with their tables, the manifest of the alarms and the pictures of measurements, as they should be, by file name. */
export function referenceDocuments(): Map<string, string> {
  const tables = referenceTables();
  return new Map([
    ...FILES.map((name) => [join(docs, name), withTables(readFileSync(join(docs, name), 'utf8'), tables)] as const),
    prometheusRule(),
    ...[...performancePictures(measured)].map(([name, picture]) => [join(docs, 'performance', name), picture] as const),
  ]);
}

/** The alarms as the Prometheus Operator takes them. */
function prometheusRule(): [file: string, text: string] {
  const deploy = join(docs, '../deploy');
  const [comment = '', ...rules] = readFileSync(join(deploy, 'prometheus/rules.yaml'), 'utf8').trimEnd().split('\n');
  const head = [
    '# Written by `npm run generate` from deploy/prometheus/rules.yaml.',
    ...['apiVersion: monitoring.coreos.com/v1', 'kind: PrometheusRule', 'metadata:', '  name: clinic-mirror', 'spec:'],
  ];
  if (!comment.startsWith('#')) throw new Error('deploy/prometheus/rules.yaml begins with a comment');
  const text = [...head, ...rules.map((line) => (line === '' ? '' : `  ${line}`))].join('\n');
  return [join(deploy, 'kubernetes-monitoring/prometheus-rule.yaml'), `${text}\n`];
}

function withTables(text: string, tables: ReadonlyMap<string, string>): string {
  return text.replaceAll(BLOCK, (_whole, begin: string, name: string, end: string) => {
    const table = tables.get(name);
    if (table === undefined) throw new Error(`there is no reference table "${name}"`);
    return `${begin}\n${table}\n\n${end}`;
  });
}

function kebabCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function decisionRecords(): DecisionRecord[] {
  return readdirSync(decisions)
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => ({ file, text: readFileSync(join(decisions, file), 'utf8') }));
}

function referenceTables(): Map<string, string> {
  const schemas = jsonSchemas(connectors, reminderChannels);
  const keys = (file: string): SchemaKey[] => keysOfSchema(schemas.get(file) ?? {});
  const tenant = keys('tenant.json').filter(
    ({ path }) => !path.startsWith(VENDOR_PART) && !path.startsWith(CHANNEL_PART),
  );
  const tables = new Map([
    ['settings', renderSettings(keys('settings.json'), 3)],
    ['tenant', renderSettings(tenant, 3)],
    ['profile', renderProfile(keys('clinic-profile.json'), Object.keys(RESOURCES))],
    ['errors', renderErrors(catalogues)],
    ['error-samples', renderSamples(allCodes().map(({ code }) => code))],
    ...Object.entries(CODE_GROUPS).map(([name, group]) => [`codes-${kebabCase(name)}`, renderCodes(group)] as const),
    ['api', renderRoutes(openApiDocument(ROUTES))],
    ['faults', renderFaults({ ...FAULTS, ...INSTALLATION_FAULTS })],
    ['limits', renderLimits(SOURCE_LIMITS)],
    ['metrics', metricsTable()],
    ['redis-keys', renderKeyProtections(KEY_PROTECTIONS)],
    ['terms', renderTerms(TERMS)],
    ['words', renderWords(AMBIGUOUS_WORDS)],
    ['decisions', renderDecisions(decisionRecords())],
    ...(Object.keys(CRM_SOURCES) as CrmStream[]).map(
      (stream) => [`fields-${stream}`, renderCrmFields(stream)] as const,
    ),
    ...performanceParts(measured),
  ]);
  for (const name of connectors.keys()) {
    const [schema] = [...jsonSchemas(new Map([...connectors].filter(([each]) => each === name)), new Map())]
      .filter(([file]) => file === 'tenant.json')
      .map(([, tenantSchema]) => tenantSchema);
    const own = keysOfSchema(schema ?? {}).filter(({ path }) => path.startsWith(VENDOR_PART));
    tables.set(name, renderKeys(own.map((key) => ({ ...key, path: key.path.slice('targets.<name>.'.length) }))));
  }
  for (const kind of reminderChannels.keys()) {
    const only = new Map([...reminderChannels].filter(([each]) => each === kind));
    const own = keysOfSchema(jsonSchemas(new Map(), only).get('tenant.json') ?? {}).filter(({ path }) =>
      path.startsWith(CHANNEL_PART),
    );
    const named = own.map((key) => ({ ...key, path: key.path.slice('reminders.channels.<name>.'.length) }));
    tables.set(`channel-${kind}`, renderKeys(named));
  }
  return tables;
}

function metricsTable(): string {
  const metrics = createMetrics(() => null);
  addFeatureMetrics(metrics);
  return renderMetrics(metrics.registry);
}

if (import.meta.main) {
  for (const [file, text] of referenceDocuments()) writeFileSync(file, text);
}
