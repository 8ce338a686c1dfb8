import type { PropertyOption } from './property.ts';

/** A pipeline of deals. The API identifies pipelines and stages by id. */
export interface Pipeline {
  id: string;
  label: string;
  stages: { id: string; label: string }[];
}

const FIRST_ID = 812_723_471;

/** The pipelines of deals: the one that every account begins with, and those that people add. */
export class Pipelines {
  readonly #added: Pipeline[] = [];

  /** @param stages those of the first one */
  all(stages: readonly PropertyOption[]): Pipeline[] {
    const added = new Set(this.#added.flatMap((one) => one.stages.map(({ id }) => id)));
    const own = stages.filter(({ value }) => !added.has(value)).map(({ value: id, label }) => ({ id, label }));
    return [{ id: 'default', label: 'Sales Pipeline', stages: own }, ...this.#added];
  }

  /** Ids are chosen by HubSpot. */
  add(label: string, stages: readonly string[]): Pipeline {
    const firstId = FIRST_ID + 100 * this.#added.length;
    const named = stages.map((stage, index) => ({ id: String(firstId + index + 1), label: stage }));
    const pipeline = { id: String(firstId), label, stages: named };
    this.#added.push(pipeline);
    return pipeline;
  }
}
