/**
 * Exec, attach and port-forward as streams: the client, the server, and the protocols between them
 * (SPDY/3.1 and WebSocket with the Kubernetes sub-protocols).
 */
export {
  type AttachStreamRequest,
  type CommandStreams,
  type ExecStreamRequest,
  type OpenPortForwardOptions,
  type PortForward,
  type PortForwardStreamRequest,
  type RemoteCommandOptions,
  type RemoteCommandResult,
  type StreamingBackend,
  type StreamRequest,
  type StreamTarget,
  type TerminalSize,
  UpgradeRefused,
  type WantedStreams,
} from './contracts.js';
export { type LoopbackStreaming, loopbackStreaming } from './loopback.js';
export { openPortForward } from './port-forward-client.js';
export { remoteCommand } from './remote-command-client.js';
export { type StreamingServer, type StreamingServerOptions, streamingServer } from './server.js';
export { writableRoom } from './writable-room.js';
