import { Command, Redis } from 'ioredis';

/**
 * A connection that refuses the same requests as a cluster: a command, a script or a pipeline with keys in several slots. A pipeline over
 * several slots succeeds only by chance, while one master serves all slots.
 */
export class OneSlotRedis extends Redis {
  override sendCommand(...given: Parameters<Redis['sendCommand']>): unknown {
    requireOneSlot([given[0]]);
    return super.sendCommand(...given);
  }

  override pipeline(...given: Parameters<Redis['pipeline']>): ReturnType<Redis['pipeline']> {
    const pipeline = super.pipeline(...given);
    const commands: Command[] = [];
    const own = pipeline as unknown as { sendCommand(command: Command): unknown };
    const send = own.sendCommand.bind(pipeline);
    own.sendCommand = (command) => {
      commands.push(command);
      requireOneSlot(commands);
      return send(command);
    };
    return pipeline;
  }
}

function requireOneSlot(commands: readonly Command[]): void {
  const names = commands.flatMap((command) => command.getKeys().map(String));
  const slots = new Set(names.map((name) => new Command('exists', [name]).getSlot()));
  if (slots.size > 1) throw new Error(`a cluster would refuse to touch these at once: ${names.join(', ')}`);
}
