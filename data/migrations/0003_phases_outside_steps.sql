-- Timers that lie on top of the step timer have kinds of their own: they were taken for parts of the step.
UPDATE step_phases SET kind = CASE kind WHEN 'exposed' THEN 'outside_exposed' ELSE 'outside' END
WHERE coalesce(kind, 'wall') IN ('wall', 'exposed') AND source_key IN (
    'timing/validation/total_validation_time', 'time/broadcast_weights', 'perf/update_weights_time',
    'perf/sleep_time', 'perf/wake_up_time', 'perf/save_model_time'
);
