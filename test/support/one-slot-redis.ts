import { Command, Redis } from 'ioredis';

/**
 * A connection that refuses the same requests as a cluster: a command, a script or a pipeline with keys in several slots. A pipeline over
 * several slots succeeds only by chance, while one master serves all slots.
 */
export class OneSlotRedis extends Redis {
  override sendCommand(...given: Parameters<Redis['sendCommand']>): unknown {
    new OneSlot().add(given[0]);
    return super.sendCommand(...given);
  }

  override pipeline(...given: Parameters<Redis['pipeline']>): ReturnType<Redis['pipeline']> {
    const pipeline = super.pipeline(...given);
    const slot = new OneSlot();
    const own = pipeline as unknown as { sendCommand(command: Command): unknown };
    const send = own.sendCommand.bind(pipeline);
    own.sendCommand = (command) => {
      slot.add(command);
      return send(command);
    };
    return pipeline;
  }
}

/** Looks whether commands belong together. Pipelines are long and a slot is slow to calculate: equal hash tags mean one slot. */
class OneSlot {
  #first: string | null = null;

  /** @throws Error if a key of the command belongs to another slot than the keys before */
  add(command: Command): void {
    for (const name of command.getKeys().map(String)) {
      this.#first ??= name;
      if (hashedPart(name) === hashedPart(this.#first) || slotOf(name) === slotOf(this.#first)) continue;
      throw new Error(`a cluster would refuse to touch these at once: ${this.#first}, ${name}`);
    }
  }
}

/** The part of a key that decides on its slot: between the first braces, unless they are empty. */
function hashedPart(name: string): string {
  const start = name.indexOf('{');
  const end = name.indexOf('}', start);
  return start === -1 || end <= start + 1 ? name : name.slice(start + 1, end);
}

function slotOf(name: string): number | null {
  return new Command('exists', [name]).getSlot();
}
