import type { MappedProperty } from '../../model/items.ts';
import { type Choices, chooseAll, chooseOptions, type ListOption } from '../options.ts';
import type { HubSpotClient } from './client.ts';
import { errors } from './errors.ts';
import { type Catalogue, readCatalogue } from './properties.ts';
import { batchSchema, pipelineSchema } from './schemas.ts';
import type { Scope } from './scope.ts';

/** By property of a stage: that of its pipeline (developers.hubspot.com, pipelines; custom objects have the latter). */
const PIPELINE_OF: Readonly<Record<string, string>> = { dealstage: 'pipeline', hs_pipeline_stage: 'hs_pipeline' };

/**
 * What the words of the mapping stand for in HubSpot's lists: pipelines, stages and every other one may be named as people see them, or by their
 * ids. Stages are those of the pipeline, where the mapping names one.
 * @throws MirrorError `settings`, code `option-missing`, that lists the names there are
 */
export async function resolveChoices(
  client: HubSpotClient,
  scope: Scope,
  catalogue: Catalogue,
): Promise<Map<string, Choices>> {
  // A list of HubSpot's own making, such as that of owners, is not told with the property.
  const optionsFor = (property: MappedProperty) => optionsOf(client, scope, property, catalogue);
  return await chooseAll(errors, scope.properties, optionsFor, (name) => `${scope.object}.${name}`);
}

/** The same for whoever only reads: the lists are asked for where the mapping names words. */
export async function lookUpChoices(client: HubSpotClient, scope: Scope): Promise<Map<string, Choices>> {
  if (!scope.properties.some(({ words }) => words !== undefined)) return new Map();
  return await resolveChoices(client, scope, await readCatalogue(client, scope, scope.object));
}

async function optionsOf(
  client: HubSpotClient,
  { object, properties, paths }: Scope,
  { name }: MappedProperty,
  catalogue: Catalogue,
): Promise<readonly ListOption[]> {
  const definition = catalogue.get(name);
  if (definition?.type !== 'enumeration' || definition.fieldType === 'checkbox') return [];
  const [wanted, ...others] = properties.find((one) => one.name === PIPELINE_OF[name])?.words ?? [];
  if (wanted === undefined || others.length > 0) return definition.options;
  const path = paths.pipelines(object);
  const list = await client.demand(batchSchema, { label: 'hubspot.pipelines.list', method: 'GET', path });
  const pipelines = list.results.flatMap((one) => pipelineSchema.safeParse(one).data ?? []);
  const { toValue } = chooseOptions(
    [wanted],
    pipelines.map(({ id: value, label }) => ({ value, label })),
  );
  const pipeline = pipelines.find(({ id }) => id === (toValue.get(wanted) ?? wanted));
  return pipeline === undefined
    ? definition.options
    : pipeline.stages.map(({ id: value, label }) => ({ value, label }));
}
