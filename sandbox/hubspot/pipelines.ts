import type { PropertyOption } from './property.ts';

/** A pipeline of deals. The API identifies pipelines and stages by id. */
export interface Pipeline {
  id: string;
  label: string;
  stages: { id: string; label: string }[];
}

const FIRST_ID = 812_723_471;

/** The pipelines of deals: the default pipeline of every account, and pipelines added by users. */
export class Pipelines {
  readonly #added: Pipeline[] = [];

  /** @param stages stages of the default pipeline */
  all(stages: readonly PropertyOption[]): Pipeline[] {
    const added = new Set(this.#added.flatMap((one) => one.stages.map(({ id }) => id)));
    const own = stages.filter(({ value }) => !added.has(value)).map(({ value: id, label }) => ({ id, label }));
    return [{ id: 'default', label: 'Sales Pipeline', stages: own }, ...this.#added];
  }

  /** Adds a pipeline; HubSpot assigns the ids. */
  add(label: string, stages: readonly string[]): Pipeline {
    const firstId = FIRST_ID + 100 * this.#added.length;
    const named = stages.map((stage, index) => ({ id: String(firstId + index + 1), label: stage }));
    const pipeline = { id: String(firstId), label, stages: named };
    this.#added.push(pipeline);
    return pipeline;
  }
}
