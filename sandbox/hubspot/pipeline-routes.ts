import type { ApiAnswer } from '../kit/answer.ts';
import { batchAnswer } from './batch.ts';
import { type Context, checkQuery, typeIn } from './call.ts';

/** `GET /pipelines/:objectType` */
export function listPipelines(context: Context): ApiAnswer {
  checkQuery(context.query, []);
  const { world } = context;
  const type = typeIn(context);
  const stages = world.properties.find(type.name, 'dealstage')?.options ?? [];
  const at = new Date(world.now()).toISOString();
  const dated = { createdAt: at, updatedAt: at, archived: false };
  const results = world.pipelines.all(stages).map((pipeline, displayOrder) => ({
    ...{ ...pipeline, displayOrder, ...dated },
    stages: pipeline.stages.map((stage, order) => ({ ...stage, displayOrder: order, metadata: {}, ...dated })),
  }));
  return batchAnswer(context, { status: 200, startedAt: world.now(), results, errors: [] });
}
