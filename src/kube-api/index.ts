/** The Kubernetes API served by nodelet itself: objects and their rules, and a simulated server for tests. */
export { SimulatedKubeApi, type SimulatedKubeApiOptions } from './sim/simulated-api.js';
