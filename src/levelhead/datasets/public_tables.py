"""The five public tables of the paper: columns, sizes and checksums."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class Table:
    """Description of a public table: where to download it, and a checksum.

    Attributes
    ----------
    name : str
        Name for `load`.
    remote : str
        Path of the file below the origin.
    columns : tuple of str
        Names of the columns, the target last.
    n_rows : int
        Number of rows.
    decimals : int
        Decimals to which the numbers are rounded before the checksum is computed.
    sha256 : str
        SHA-256 of the rounded numbers as little-endian doubles, row by row.
    """

    name: str
    remote: str
    columns: tuple[str, ...]
    n_rows: int
    decimals: int
    sha256: str


_BOSTON = "crim zn indus chas nox rm age dis rad tax ptratio b lstat medv"
_CONCRETE = "cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate age strength"
_POWER = "temperature exhaust_vacuum ambient_pressure relative_humidity energy_output"
_YACHT = (
    "buoyancy_position prismatic_coefficient length_displacement beam_draught length_beam froude_number "
    "residuary_resistance"
)
_KIN8NM = "theta1 theta2 theta3 theta4 theta5 theta6 theta7 theta8 distance"

TABLES: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            Table(
                "boston",
                "bostonHousing/data/data.txt",
                tuple(_BOSTON.split()),
                506,
                5,
                "832e894115c56dd24ec63848d4a3d9bd921d268d0be1bee2a8f4ee5ea318f5f7",
            ),
            Table(
                "concrete",
                "concrete/data/data.txt",
                tuple(_CONCRETE.split()),
                1030,
                2,
                "d0e2d2f0f50277624d7d00b98c4e8b66465e8d5f2f51738500552b8b10a4689b",
            ),
            Table(
                "power",
                "power-plant/data/data.txt",
                tuple(_POWER.split()),
                9568,
                2,
                "d3c75624ea5df1256c9b8e81560e1f9381014565c5f558d3293831fa521b82e9",
            ),
            Table(
                "yacht",
                "yacht/data/data.txt",
                tuple(_YACHT.split()),
                308,
                3,
                "ec08588637fd93582116a1ead33f0c1e787dae755168073608e030e5282a3f4e",
            ),
            Table(
                "kin8nm",
                "kin8nm/data/data.txt",
                tuple(_KIN8NM.split()),
                8192,
                13,
                "7fad37438fc1228ed099177766b084fb5577bf7457d7a6460f8d0389b21681ab",
            ),
        )
    }
)
