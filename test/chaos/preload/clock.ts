// Loaded into a daemon by `node --import`: its clock shows what the harness says.
const RealDate = Date;
let offsetMs = 0;

globalThis.Date = new Proxy(RealDate, {
  construct: (target, args: [], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [RealDate.now() + offsetMs] : args, newTarget),
  apply: () => new RealDate(RealDate.now() + offsetMs).toString(),
  get(target, name, receiver) {
    return name === 'now' ? () => RealDate.now() + offsetMs : Reflect.get(target, name, receiver);
  },
});

process.on('message', (message: unknown) => {
  if (typeof message === 'object' && message !== null && 'offsetMs' in message) offsetMs = Number(message.offsetMs);
});
// The daemon ends by itself although it listens here.
process.channel?.unref();
